// The rules of AXI4-Lite between a manager and a subordinate, for proofs and for simulations.
//
// The free Yosys reads them as immediate assertions (read_verilog -formal -sv). Bind the module to a subordinate and prove
// its rules against any legal manager; or, with SUBORDINATE_ASSUMED and MANAGER_ASSERTED, a manager's. In a simulation
// (Verilator, Icarus Verilog) both sides are held to the rules: a bit of "broken" is high where a rule does not hold.
//
// Copyright (c) 2026, the cDMA authors. SPDX-License-Identifier: BSD-2-Clause
module axi_lite_subordinate #(
    parameter ADDRESS_BITS = 12,
    parameter DATA_BITS = 32,
    // Accesses of each direction of which the rules keep track.
    parameter OUTSTANDING = 3,
    // Cycles within which an access is answered, if the manager takes all answers at once; 0: whenever.
    parameter ANSWERED_WITHIN = 0,
    // In reset the subordinate is ready for nothing; and with AT_ONCE all of this holds from the first edge in reset on.
    parameter UNREADY_IN_RESET = 0,
    parameter AT_ONCE = 0,
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
    input rready,
    // Nothing is in flight.
    output idle,
    // In simulation: the rules that are broken at the next rising edge; and of each channel (aw, w, b, ar, r) whether a transfer
    // has happened at once, and whether one has waited.
    output [31:0] broken,
    output reg [9:0] passed
);
    // A rule has its bit, and says in which way it is broken.
`define LITE_RULE(number, rule) assign broken[number] = (rule) !== 1'b1;
`ifdef FORMAL
`define LITE_MANAGER(number, broken_if, rule) `LITE_RULE(number, rule) \
    always @* if (MANAGER_ASSERTED) assert (!broken[number]); else assume (!broken[number]);
`define LITE_SUBORDINATE(number, broken_if, rule) `LITE_RULE(number, rule) \
    always @* if (SUBORDINATE_ASSUMED) assume (!broken[number]); else assert (!broken[number]);
`else
`define LITE_MANAGER(number, broken_if, rule) `LITE_RULE(number, rule)
`define LITE_SUBORDINATE(number, broken_if, rule) `LITE_RULE(number, rule)
`endif
    assign broken[31:16] = 0;

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

    wire quiet_in_reset = started && (was_reset || (AT_ONCE && !resetn));
    `LITE_MANAGER(0, "aw changed or awvalid fell before awready",
        (!(aw_waits && resetn) || (awvalid && {awaddr, awprot} === aw_was)))
    `LITE_MANAGER(1, "w changed or wvalid fell before wready",
        (!(w_waits && resetn) || (wvalid && {wdata, wstrb} === w_was)))
    `LITE_MANAGER(2, "ar changed or arvalid fell before arready",
        (!(ar_waits && resetn) || (arvalid && {araddr, arprot} === ar_was)))
    `LITE_MANAGER(3, "awvalid or wvalid or arvalid is high in reset",
        (!(started && was_reset) || (!awvalid && !wvalid && !arvalid)))
    `LITE_SUBORDINATE(4, "bvalid fell before bready", (!(b_waits && resetn) || bvalid))
    `LITE_SUBORDINATE(5, "bresp changed while bvalid waited for bready", (!(b_waits && resetn && bvalid) || bresp === b_was))
    `LITE_SUBORDINATE(6, "rvalid fell before rready", (!(r_waits && resetn) || rvalid))
    `LITE_SUBORDINATE(7, "rdata or rresp changed while rvalid waited for rready",
        (!(r_waits && resetn && rvalid) || {rdata, rresp} === r_was))
    `LITE_SUBORDINATE(8, "bvalid or rvalid is high in reset", (!quiet_in_reset || (!bvalid && !rvalid)))
    `LITE_SUBORDINATE(9, "awready or wready or arready is high in reset",
        (!(UNREADY_IN_RESET && quiet_in_reset && !resetn) || (!awready && !wready && !arready)))
    // One response for each access, after its address and its data.
    `LITE_SUBORDINATE(10, "bvalid answers no write", (!(bvalid && resetn) || (addresses != 0 && data != 0)))
    `LITE_SUBORDINATE(11, "rvalid answers no read", (!(rvalid && resetn) || reads != 0))
    `LITE_SUBORDINATE(12, "an answer is EXOKAY", (!resetn || ((!bvalid || bresp != EXOKAY) && (!rvalid || rresp != EXOKAY))))
    `LITE_SUBORDINATE(13, "too much is in flight",
        (!resetn || (addresses <= OUTSTANDING && data <= OUTSTANDING && reads <= OUTSTANDING)))
    assign idle = addresses == 0 && data == 0 && reads == 0;

    generate
        if (ANSWERED_WITHIN > 0) begin : patience
            reg [$clog2(ANSWERED_WITHIN + 1):0] write_time = 0, read_time = 0;
            always @(posedge clk) begin
                write_time <= !resetn || addresses == 0 || data == 0 || bvalid ? 0 : write_time + (write_time < ANSWERED_WITHIN);
                read_time <= !resetn || reads == 0 || rvalid ? 0 : read_time + (read_time < ANSWERED_WITHIN);
            end
            `LITE_SUBORDINATE(14, "no bvalid although a response is due", (write_time < ANSWERED_WITHIN))
            `LITE_SUBORDINATE(15, "no rvalid although a response is due", (read_time < ANSWERED_WITHIN))
        end else begin : no_patience
            assign broken[15:14] = 0;
        end
    endgenerate

`ifndef FORMAL
    initial passed = 0;
    always @(posedge clk) begin
        if (resetn) begin
            if (awvalid && awready) passed[aw_waits] <= 1;
            if (wvalid && wready) passed[2 + w_waits] <= 1;
            if (bvalid && bready) passed[4 + b_waits] <= 1;
            if (arvalid && arready) passed[6 + ar_waits] <= 1;
            if (rvalid && rready) passed[8 + r_waits] <= 1;
        end
    end
`endif

`undef LITE_RULE
`undef LITE_MANAGER
`undef LITE_SUBORDINATE
endmodule
