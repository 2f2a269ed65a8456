// The rules of an AXI4-Lite subordinate, as immediate assertions that the free Yosys reads. Bind it to a subordinate and
// prove its rules against any legal manager; or, with SUBORDINATE_ASSUMED and MANAGER_ASSERTED, a manager's.
//
// Copyright (c) 2026, the cDMA authors. SPDX-License-Identifier: BSD-2-Clause
module axi_lite_subordinate #(
    parameter ADDRESS_BITS = 12,
    parameter DATA_BITS = 32,
    // Accesses of each direction of which the rules keep track.
    parameter OUTSTANDING = 3,
    // Cycles within which an access is answered, if the manager takes all answers at once; 0: whenever.
    parameter ANSWERED_WITHIN = 0,
    parameter SUBORDINATE_ASSUMED = 0,
    parameter MANAGER_ASSERTED = 0
) (
    input clk,
    input resetn,
    input [ADDRESS_BITS-1:0] awaddr,
    input [2:0] awprot,
    input awvalid,
    input awready,
    input [DATA_BITS-1:0] wdata,
    input [DATA_BITS/8-1:0] wstrb,
    input wvalid,
    input wready,
    input [1:0] bresp,
    input bvalid,
    input bready,
    input [ADDRESS_BITS-1:0] araddr,
    input [2:0] arprot,
    input arvalid,
    input arready,
    input [DATA_BITS-1:0] rdata,
    input [1:0] rresp,
    input rvalid,
    input rready
);
`define LITE_MANAGER(rule) if (MANAGER_ASSERTED) assert (rule); else assume (rule);
`define LITE_SUBORDINATE(rule) if (SUBORDINATE_ASSUMED) assume (rule); else assert (rule);

    localparam COUNT_BITS = $clog2(OUTSTANDING + 1) + 1;
    localparam EXOKAY = 2'b01;

    reg started = 0;
    reg was_reset = 0;
    reg aw_waits = 0, w_waits = 0, b_waits = 0, ar_waits = 0, r_waits = 0;
    reg [ADDRESS_BITS+2:0] aw_was, ar_was;
    reg [DATA_BITS+DATA_BITS/8-1:0] w_was;
    reg [1:0] b_was;
    reg [DATA_BITS+1:0] r_was;
    // What was taken of each channel and is not answered.
    reg [COUNT_BITS-1:0] addresses = 0, data = 0, reads = 0;

    always @(posedge clk) begin
        started <= 1;
        was_reset <= !resetn;
        aw_waits <= resetn && awvalid && !awready;
        w_waits <= resetn && wvalid && !wready;
        b_waits <= resetn && bvalid && !bready;
        ar_waits <= resetn && arvalid && !arready;
        r_waits <= resetn && rvalid && !rready;
        aw_was <= {awaddr, awprot};
        w_was <= {wdata, wstrb};
        b_was <= bresp;
        ar_was <= {araddr, arprot};
        r_was <= {rdata, rresp};
        addresses <= resetn ? addresses + (awvalid && awready) - (bvalid && bready) : 0;
        data <= resetn ? data + (wvalid && wready) - (bvalid && bready) : 0;
        reads <= resetn ? reads + (arvalid && arready) - (rvalid && rready) : 0;
    end

    always @* begin
        if (aw_waits && resetn) `LITE_MANAGER(awvalid && {awaddr, awprot} == aw_was)
        if (w_waits && resetn) `LITE_MANAGER(wvalid && {wdata, wstrb} == w_was)
        if (ar_waits && resetn) `LITE_MANAGER(arvalid && {araddr, arprot} == ar_was)
        if (b_waits && resetn) `LITE_SUBORDINATE(bvalid && bresp == b_was)
        if (r_waits && resetn) `LITE_SUBORDINATE(rvalid && {rdata, rresp} == r_was)
        if (started && was_reset) begin
            `LITE_MANAGER(!awvalid && !wvalid && !arvalid)
            `LITE_SUBORDINATE(!bvalid && !rvalid)
        end
        if (resetn) begin
            // One response for each access, after its address and its data.
            if (bvalid) `LITE_SUBORDINATE(addresses != 0 && data != 0 && bresp != EXOKAY)
            if (rvalid) `LITE_SUBORDINATE(reads != 0 && rresp != EXOKAY)
            `LITE_SUBORDINATE(addresses <= OUTSTANDING && data <= OUTSTANDING && reads <= OUTSTANDING)
        end
    end

    generate
        if (ANSWERED_WITHIN > 0) begin : patience
            reg [$clog2(ANSWERED_WITHIN + 1):0] write_time = 0, read_time = 0;
            always @(posedge clk) begin
                write_time <= !resetn || addresses == 0 || data == 0 || bvalid ? 0 : write_time + (write_time < ANSWERED_WITHIN);
                read_time <= !resetn || reads == 0 || rvalid ? 0 : read_time + (read_time < ANSWERED_WITHIN);
            end
            always @* begin
                `LITE_SUBORDINATE(write_time < ANSWERED_WITHIN)
                `LITE_SUBORDINATE(read_time < ANSWERED_WITHIN)
            end
        end
    endgenerate

`undef LITE_MANAGER
`undef LITE_SUBORDINATE
endmodule
