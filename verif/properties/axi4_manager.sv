// The rules of AXI4 between a manager and a subordinate, for proofs and for simulations.
//
// The free Yosys reads them as immediate assertions (read_verilog -formal -sv). Bind the module to a port of a manager and
// prove the manager's rules against any legal subordinate; or, with MANAGER_ASSUMED and SUBORDINATE_ASSERTED, prove a
// subordinate against any legal manager. In a simulation (Verilator, Icarus Verilog) both sides are held to the rules:
// a bit of "broken" is high where a rule does not hold.
//
// Not covered: exclusive accesses, and write data that come before their address.
//
// Copyright (c) 2026, the cDMA authors. SPDX-License-Identifier: BSD-2-Clause
module axi4_manager #(
    parameter ID_BITS = 1,
    parameter ADDRESS_BITS = 32,
    parameter DATA_BITS = 32,
    // Bursts in flight, of each direction, of which the rules keep track; one more is an error.
    parameter OUTSTANDING = 4,
    // The longest burst, in beats, which may be less than what AXI4 allows.
    parameter LONGEST = 256,
    // Bytes, as a logarithm, of which no burst crosses a multiple; 12 says AXI4. A manager may promise less.
    parameter BOUNDARY_LOG2 = 12,
    // Bursts of type INCR only.
    parameter ONLY_INCR = 1,
    // Bursts begin at a multiple of their beats' bytes, and each write beat has a strobe. AXI4 asks for neither.
    parameter ALIGNED = 0,
    parameter NO_EMPTY_STROBES = 0,
    // Write data are offered only once their address has been taken. AXI4 does not ask for it.
    parameter DATA_AFTER_ADDRESS = 0,
    // Bursts in flight of ID 0, in each direction, and the reads and the writes of each other ID; 0: as many as come.
    parameter MOST_OF_ID_0 = 0,
    parameter MOST_OTHER_READS = 0,
    parameter MOST_OTHER_WRITES = 0,
    // In reset the manager is ready for nothing; and with AT_ONCE all of this holds from the first edge in reset on.
    parameter UNREADY_IN_RESET = 0,
    parameter AT_ONCE = 0,
    // Bits beside each address: cache, prot, qos, user and the like.
    parameter BESIDE_BITS = 1,
    // Cycles after which an answer that is offered must have been taken; 0: whenever.
    parameter TAKEN_WITHIN = 0,
    // Who is held to the rules, and who is trusted with them.
    parameter MANAGER_ASSUMED = 0,
    parameter SUBORDINATE_ASSERTED = 0
) (
    input clk,
    input resetn,
    input [ID_BITS-1:0] awid,
    input [ADDRESS_BITS-1:0] awaddr,
    input [7:0] awlen,
    input [2:0] awsize,
    input [1:0] awburst,
    input [BESIDE_BITS-1:0] awbeside,
    input awvalid,
    input awready,
    input [DATA_BITS-1:0] wdata,
    input [DATA_BITS/8-1:0] wstrb,
    input wlast,
    input wvalid,
    input wready,
    input [ID_BITS-1:0] bid,
    input [1:0] bresp,
    input bvalid,
    input bready,
    input [ID_BITS-1:0] arid,
    input [ADDRESS_BITS-1:0] araddr,
    input [7:0] arlen,
    input [2:0] arsize,
    input [1:0] arburst,
    input [BESIDE_BITS-1:0] arbeside,
    input arvalid,
    input arready,
    input [ID_BITS-1:0] rid,
    input [DATA_BITS-1:0] rdata,
    input [1:0] rresp,
    input rlast,
    input rvalid,
    input rready,
    // For other properties: the address of the write beat that is offered, if a burst is open for it, aligned to the beat.
    output [ADDRESS_BITS-1:0] write_address,
    output write_open,
    // Nothing is in flight.
    output idle,
    // In simulation: the rules that are broken at the next rising edge; and of each channel (aw, w, b, ar, r) whether a transfer
    // has happened at once, and whether one has waited.
    output [31:0] broken,
    output reg [9:0] passed
);
    localparam BYTES = DATA_BITS / 8;
    localparam LANE_BITS = BYTES > 1 ? $clog2(BYTES) : 1;
    localparam COUNT_BITS = $clog2(OUTSTANDING + 1) + 1;
    localparam BEAT_BITS = LONGEST > 1 ? $clog2(LONGEST) : 1;
    localparam INCR = 2'b01, WRAP = 2'b10, EXOKAY = 2'b01;

    // A rule has its bit, and says in which way it is broken.
`define AXI4_RULE(number, rule) assign broken[number] = (rule) !== 1'b1;
`ifdef FORMAL
`define AXI4_MANAGER(number, broken_if, rule) `AXI4_RULE(number, rule) \
    always @* if (MANAGER_ASSUMED) assume (!broken[number]); else assert (!broken[number]);
`define AXI4_SUBORDINATE(number, broken_if, rule) `AXI4_RULE(number, rule) \
    always @* if (SUBORDINATE_ASSERTED) assert (!broken[number]); else assume (!broken[number]);
`else
`define AXI4_MANAGER(number, broken_if, rule) `AXI4_RULE(number, rule)
`define AXI4_SUBORDINATE(number, broken_if, rule) `AXI4_RULE(number, rule)
`endif
    assign broken[31:27] = 0;

    // ---- Handshakes: what is offered stays, unchanged, until it is taken. Nothing is offered in reset.

    reg started = 0;
    reg was_reset = 0;
    reg aw_waits = 0, w_waits = 0, b_waits = 0, ar_waits = 0, r_waits = 0;
    reg [ID_BITS+ADDRESS_BITS+BESIDE_BITS+12:0] aw_was, ar_was;
    reg [DATA_BITS+BYTES:0] w_was;
    reg [ID_BITS+1:0] b_was;
    reg [ID_BITS+DATA_BITS+2:0] r_was;

    always @(posedge clk) begin
        started <= 1;
        was_reset <= !resetn;
        aw_waits <= resetn && awvalid && !awready;
        w_waits <= resetn && wvalid && !wready;
        b_waits <= resetn && bvalid && !bready;
        ar_waits <= resetn && arvalid && !arready;
        r_waits <= resetn && rvalid && !rready;
        aw_was <= {awid, awaddr, awlen, awsize, awburst, awbeside};
        w_was <= {wdata, wstrb, wlast};
        b_was <= {bid, bresp};
        ar_was <= {arid, araddr, arlen, arsize, arburst, arbeside};
        r_was <= {rid, rdata, rresp, rlast};
    end

    wire quiet_in_reset = started && (was_reset || (AT_ONCE && !resetn));
    `AXI4_MANAGER(0, "awvalid fell before awready", (!(aw_waits && resetn) || awvalid))
    `AXI4_MANAGER(1, "aw changed while awvalid waited for awready",
        (!(aw_waits && resetn && awvalid) || {awid, awaddr, awlen, awsize, awburst, awbeside} === aw_was))
    `AXI4_MANAGER(2, "wvalid fell before wready", (!(w_waits && resetn) || wvalid))
    `AXI4_MANAGER(3, "w changed while wvalid waited for wready",
        (!(w_waits && resetn && wvalid) || {wdata, wstrb, wlast} === w_was))
    `AXI4_MANAGER(4, "arvalid fell before arready", (!(ar_waits && resetn) || arvalid))
    `AXI4_MANAGER(5, "ar changed while arvalid waited for arready",
        (!(ar_waits && resetn && arvalid) || {arid, araddr, arlen, arsize, arburst, arbeside} === ar_was))
    `AXI4_SUBORDINATE(6, "b changed or bvalid fell before bready",
        (!(b_waits && resetn) || (bvalid && {bid, bresp} === b_was)))
    `AXI4_SUBORDINATE(7, "r changed or rvalid fell before rready",
        (!(r_waits && resetn) || (rvalid && {rid, rdata, rresp, rlast} === r_was)))
    `AXI4_MANAGER(8, "awvalid or wvalid or arvalid is high in reset",
        (!quiet_in_reset || (!awvalid && !wvalid && !arvalid)))
    `AXI4_SUBORDINATE(9, "bvalid or rvalid is high in reset", (!(started && was_reset) || (!bvalid && !rvalid)))
    `AXI4_MANAGER(10, "rready or bready is high in reset",
        (!(UNREADY_IN_RESET && quiet_in_reset && !resetn) || (!rready && !bready)))

    // ---- Bursts: of a legal type, size and length, and within 4 KiB.

    function legal(
        input [ADDRESS_BITS-1:0] address, input [7:0] len, input [2:0] size, input [1:0] burst
    );
        reg [19:0] first, last;
        begin
            first = (address & ((20'd1 << BOUNDARY_LOG2) - 1)) >> size << size;
            last = first + ((len + 20'd1) << size) - 1;
            legal = burst != 2'b11 && (1 << size) <= BYTES && len < LONGEST;
            if (burst == INCR && last >> BOUNDARY_LOG2 != 0) legal = 0;
            if (burst == WRAP && (address & ((1 << size) - 1)) != 0) legal = 0;
            if (burst == WRAP && len != 1 && len != 3 && len != 7 && len != 15) legal = 0;
            if (burst == 2'b00 && len > 15) legal = 0;
            if (ONLY_INCR && burst != INCR) legal = 0;
            if (ALIGNED && (address & ((1 << size) - 1)) != 0) legal = 0;
        end
    endfunction

    `AXI4_MANAGER(11, "a write burst is of an illegal type or size or length or crosses a boundary",
        (!(awvalid && resetn) || legal(awaddr, awlen, awsize, awburst)))
    `AXI4_MANAGER(12, "a read burst is of an illegal type or size or length or crosses a boundary",
        (!(arvalid && resetn) || legal(araddr, arlen, arsize, arburst)))

    // ---- Reads in flight, oldest first. Data answer the oldest read of their ID, and the last beat says so.

    reg [COUNT_BITS-1:0] reads = 0;
    reg [OUTSTANDING*ID_BITS-1:0] read_id = 0;
    reg [OUTSTANDING*BEAT_BITS-1:0] read_left = 0;
    reg read_found, write_found;
    reg [COUNT_BITS-1:0] read_index;
    reg [BEAT_BITS-1:0] read_beats;
    reg [COUNT_BITS-1:0] reads_of_id;
    integer i;

    always @* begin
        read_found = 0;
        read_index = 0;
        read_beats = 0;
        for (i = OUTSTANDING - 1; i >= 0; i = i - 1)
            if (i < reads && read_id[i*ID_BITS +: ID_BITS] == rid) begin
                read_found = 1;
                read_index = i;
                read_beats = read_left[i*BEAT_BITS +: BEAT_BITS];
            end
        reads_of_id = 0;
        for (i = 0; i < OUTSTANDING; i = i + 1)
            if (i < reads && read_id[i*ID_BITS +: ID_BITS] == arid) reads_of_id = reads_of_id + 1'd1;
        if (rvalid && rready && rlast && rid == arid) reads_of_id = reads_of_id - 1'd1;
    end

    wire read_ends = rvalid && rready && rlast;
    wire [COUNT_BITS-1:0] most_reads = arid == 0 ? MOST_OF_ID_0 : MOST_OTHER_READS;
    `AXI4_SUBORDINATE(13, "read data answer no read", (!(rvalid && resetn) || read_found))
    `AXI4_SUBORDINATE(14, "rlast is at the wrong beat", (!(rvalid && resetn) || rlast == (read_beats == 0)))
    `AXI4_SUBORDINATE(15, "read data are answered EXOKAY", (!(rvalid && resetn) || rresp != EXOKAY))
    `AXI4_MANAGER(16, "too many reads are in flight",
        (!(arvalid && arready && resetn) ||
            ((reads < OUTSTANDING || read_ends) && (most_reads == 0 || reads_of_id < most_reads))))

    always @(posedge clk) begin
        if (rvalid && rready && !rlast) read_left[read_index*BEAT_BITS +: BEAT_BITS] <= read_beats - 1'd1;
        if (read_ends)
            for (i = 0; i < OUTSTANDING - 1; i = i + 1)
                if (i >= read_index) begin
                    read_id[i*ID_BITS +: ID_BITS] <= read_id[(i+1)*ID_BITS +: ID_BITS];
                    read_left[i*BEAT_BITS +: BEAT_BITS] <= read_left[(i+1)*BEAT_BITS +: BEAT_BITS];
                end
        if (arvalid && arready) begin
            read_id[(reads-read_ends)*ID_BITS +: ID_BITS] <= arid;
            read_left[(reads-read_ends)*BEAT_BITS +: BEAT_BITS] <= arlen;
        end
        reads <= resetn ? reads + (arvalid && arready) - read_ends : 0;
    end

    // ---- Writes in flight, oldest first. Data belong to the oldest write that lacks some; a response, to the oldest write
    // of its ID, which must have all of its data. An address may come in the cycle of its first beat of data.

    reg [COUNT_BITS-1:0] writes = 0;
    reg [COUNT_BITS-1:0] written = 0;
    reg [OUTSTANDING*ID_BITS-1:0] write_id = 0;
    reg [OUTSTANDING*BEAT_BITS-1:0] write_len = 0;
    reg [OUTSTANDING*ADDRESS_BITS-1:0] write_at = 0;
    reg [OUTSTANDING*3-1:0] write_size = 0;
    reg [BEAT_BITS-1:0] beat = 0;

    wire open = written < writes;
    wire aw_now = awvalid && awready;
    reg [BEAT_BITS-1:0] len_now;
    reg [ADDRESS_BITS-1:0] at_now;
    reg [2:0] size_now;
    always @* begin
        len_now = awlen;
        at_now = awaddr;
        size_now = awsize;
        for (i = 0; i < OUTSTANDING; i = i + 1)
            if (open && i == written) begin
                len_now = write_len[i*BEAT_BITS +: BEAT_BITS];
                at_now = write_at[i*ADDRESS_BITS +: ADDRESS_BITS];
                size_now = write_size[i*3 +: 3];
            end
    end
    wire [ADDRESS_BITS-1:0] beat_address = ((at_now >> size_now) + beat) << size_now;
    wire [LANE_BITS-1:0] lane = BYTES > 1 ? beat_address[LANE_BITS-1:0] : 0;
    // Of the first beat, the bytes below the address have no strobe either.
    wire [LANE_BITS-1:0] first_lane = beat != 0 || BYTES == 1 ? lane : at_now[LANE_BITS-1:0];
    wire [BYTES-1:0] beat_bytes = (({BYTES{1'b1}} >> (BYTES - (1 << size_now))) << lane) & ({BYTES{1'b1}} << first_lane);
    reg [COUNT_BITS-1:0] write_index;
    reg [COUNT_BITS-1:0] writes_of_id;

    assign write_address = beat_address;
    assign write_open = open || aw_now;
    assign idle = reads == 0 && writes == 0;

    always @* begin
        write_found = 0;
        write_index = 0;
        for (i = OUTSTANDING - 1; i >= 0; i = i - 1)
            if (i < writes && write_id[i*ID_BITS +: ID_BITS] == bid) begin
                write_found = 1;
                write_index = i;
            end
        writes_of_id = 0;
        for (i = 0; i < OUTSTANDING; i = i + 1)
            if (i < writes && write_id[i*ID_BITS +: ID_BITS] == awid) writes_of_id = writes_of_id + 1'd1;
        if (bvalid && bready && bid == awid) writes_of_id = writes_of_id - 1'd1;
    end

    // Data that wait for their address to be taken may be offered with it.
    `AXI4_MANAGER(17, "write data came before their address",
        (!(wvalid && resetn) || open || (awvalid && !DATA_AFTER_ADDRESS)))
    `AXI4_MANAGER(18, "wlast is at the wrong beat", (!(wvalid && resetn) || wlast == (beat == len_now)))
    `AXI4_MANAGER(19, "a write beat has strobes outside its bytes",
        (!(wvalid && resetn) || (wstrb & ~beat_bytes) == 0))
    `AXI4_MANAGER(20, "a write beat has no strobe", (!(NO_EMPTY_STROBES && wvalid && resetn) || wstrb != 0))
    `AXI4_SUBORDINATE(21, "write data are taken before their address", (!(wvalid && wready && resetn) || open || aw_now))
    `AXI4_SUBORDINATE(22, "a write response answers no write",
        (!(bvalid && resetn) || (write_found && write_index < written)))
    `AXI4_SUBORDINATE(23, "a write is answered EXOKAY", (!(bvalid && resetn) || bresp != EXOKAY))
    wire [COUNT_BITS-1:0] most_writes = awid == 0 ? MOST_OF_ID_0 : MOST_OTHER_WRITES;
    `AXI4_MANAGER(24, "too many writes are in flight",
        (!(aw_now && resetn) ||
            ((writes < OUTSTANDING || (bvalid && bready)) && (most_writes == 0 || writes_of_id < most_writes))))

    wire answered = bvalid && bready;
    wire all_sent = wvalid && wready && wlast;
    always @(posedge clk) begin
        if (answered)
            for (i = 0; i < OUTSTANDING - 1; i = i + 1)
                if (i >= write_index) begin
                    write_id[i*ID_BITS +: ID_BITS] <= write_id[(i+1)*ID_BITS +: ID_BITS];
                    write_len[i*BEAT_BITS +: BEAT_BITS] <= write_len[(i+1)*BEAT_BITS +: BEAT_BITS];
                    write_at[i*ADDRESS_BITS +: ADDRESS_BITS] <= write_at[(i+1)*ADDRESS_BITS +: ADDRESS_BITS];
                    write_size[i*3 +: 3] <= write_size[(i+1)*3 +: 3];
                end
        if (aw_now) begin
            write_id[(writes-answered)*ID_BITS +: ID_BITS] <= awid;
            write_len[(writes-answered)*BEAT_BITS +: BEAT_BITS] <= awlen;
            write_at[(writes-answered)*ADDRESS_BITS +: ADDRESS_BITS] <= awaddr;
            write_size[(writes-answered)*3 +: 3] <= awsize;
        end
        if (wvalid && wready) beat <= wlast ? 0 : beat + 1'd1;
        writes <= resetn ? writes + aw_now - answered : 0;
        written <= resetn ? written + all_sent - answered : 0;
        if (!resetn) beat <= 0;
    end

    // ---- Answers do not wait for ever.

    generate
        if (TAKEN_WITHIN > 0) begin : patience
            reg [$clog2(TAKEN_WITHIN + 1):0] r_time = 0, b_time = 0;
            always @(posedge clk) begin
                r_time <= !resetn || !rvalid || rready ? 0 : r_time + (r_time < TAKEN_WITHIN);
                b_time <= !resetn || !bvalid || bready ? 0 : b_time + (b_time < TAKEN_WITHIN);
            end
            `AXI4_MANAGER(25, "read data wait too long", (r_time < TAKEN_WITHIN))
            `AXI4_MANAGER(26, "a write response waits too long", (b_time < TAKEN_WITHIN))
        end else begin : patient
            assign broken[26:25] = 0;
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

`undef AXI4_RULE
`undef AXI4_MANAGER
`undef AXI4_SUBORDINATE
endmodule
