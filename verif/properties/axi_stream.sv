// The rules of an AXI4-Stream with packets of packed words, as immediate assertions that the free Yosys reads.
// Bind it to a stream and hold its source to the rules; or, with SOURCE_ASSUMED, trust the source with them.
//
// Copyright (c) 2026, the cDMA authors. SPDX-License-Identifier: BSD-2-Clause
module axi_stream #(
    parameter DATA_BITS = 32,
    // Lanes are kept or not as a whole.
    parameter LANES = DATA_BITS / 8,
    // Lanes are filled from lane 0 on, and only the last beat of a packet is not full. AXI4-Stream asks for neither.
    parameter PACKED = 1,
    // The last beat of a packet may be without any lane.
    parameter MAY_BE_EMPTY = 0,
    parameter SOURCE_ASSUMED = 0
) (
    input clk,
    input resetn,
    input [DATA_BITS-1:0] tdata,
    input [LANES-1:0] tkeep,
    input tlast,
    input tvalid,
    input tready
);
`define AXI_STREAM(rule) if (SOURCE_ASSUMED) assume (rule); else assert (rule);

    reg started = 0;
    reg was_reset = 0;
    reg waits = 0;
    reg [DATA_BITS+LANES:0] was;

    always @(posedge clk) begin
        started <= 1;
        was_reset <= !resetn;
        waits <= resetn && tvalid && !tready;
        was <= {tdata, tkeep, tlast};
    end

    always @* begin
        if (waits && resetn) `AXI_STREAM(tvalid && {tdata, tkeep, tlast} == was)
        if (started && was_reset) `AXI_STREAM(!tvalid)
        if (tvalid && resetn && PACKED) begin
            `AXI_STREAM((tkeep & (tkeep + 1'd1)) == 0)
            `AXI_STREAM(tlast || &tkeep)
        end
        if (tvalid && resetn && !MAY_BE_EMPTY) `AXI_STREAM(tkeep != 0)
    end

`undef AXI_STREAM
endmodule
