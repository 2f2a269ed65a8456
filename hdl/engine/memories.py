"""What the memories of the engine are for."""

from __future__ import annotations

from cdma.hdl.codec.parts.memories import PURPOSES as CODEC_PURPOSES

__all__ = ["PURPOSES"]

#: By the end of the path of the instance, as a regular expression.
PURPOSES = {
    r"path\.(unit_\d+\.)?reader\.store(\.memory)?": "read buffer of a channel",
    r"path\.(unit_\d+\.)?writer\.store(\.memory)?": "write buffer of a channel",
    r"path\.(unit_\d+\.)?reader\.opened\.memory": "bursts that a reader has in flight",
    r"path\.(unit_\d+\.)?reader\.shifts\.memory": "word of a beat at which a packet begins",
    r"path\.(unit_\d+\.)?writer\.bursts\.memory": "bursts that a writer has data for",
    r"path\.(unit_\d+\.)?writer\.lengths\.memory": "lengths of bursts whose data follows",
    r"path\.(unit_\d+\.)?writer\.opened\.memory": "bursts that a writer has in flight",
    r"path\.reports\.memory": "results of the codec, until the completion is made",
    r"path\.ranges\.memory": "how many numbers of a packet are out of range, until the completion is made",
    r"path\.checksum\.ended\.memory": "CRCs of packets that have ended, until their words of zeros are taken back",
    r"path\.unit_\d+\.pieces\.beats\.memory": "compressed words of a unit, until their turn or until they are expanded",
    r"path\.unit_\d+\.(commands|routes)\.memory": "stripes of a unit in flight",
    r"path\.unit_\d+\.next_stripe\.stripes\.memory": "whether a unit's next stripe is whole",
    r"path\.unit_\d+\.(outcomes|verdicts|ends)\.memory": "reports of a unit's stripes, until their turn",
    r"path\.orders\.\w+\.memory": "the order of the stripes in flight",
    r"path\.feed\.(frames|rows|runs|marks)\.memory": "shapes, until their rows are walked",
    r"path\.(filler|dropper)\.waiting\.memory": "rows with padding, until it is put in or taken out",
    r"path\.writer\.(ends|gather\.cut)\.memory": "bursts of rows or pages that a writer is given, and where they end",
    r"path\.pages\.faults\.memory": "errors of pages, until their descriptor is done",
    r"path\.pages\.list\.reader\.(opened|store)\.memory": "entries of lists of pages",
    r"path\.cuts\.memory": "lengths of the stripes that a stream is split into",
    r"path\.joiner\.\w+(\.\w+)*": "words of a stream, until their beat is joined",
    r"path\.splitter\.\w+(\.\w+)*": "words of a stream, and where its windows end, until it is split",
    r"slots\.(read|write)_range": "descriptors in flight: where each reads and writes, from first to last",
    r"slots\.(read|write)_(shaped|pages)(_\d+)?": "descriptors in flight: which have a shape, and where lists of pages are",
    r"slots\.(read|write)_owner": "descriptors in flight: whose the memory of each is",
    r"slots\.(read|write)_(addresses|resps)": "descriptors in flight: the bus error of each",
    r"slots\.(objection|fields)": "descriptors in flight: tag, words and status of each, and its wrong address",
    r"slots\.(numbers|ends)": "descriptors in flight: when each began, how much it reads, where its writes begin and end",
    r"slots\.results": "descriptors in flight: when each ended, and how much it wrote",
    r"slots\.(routes|steps|early)": "descriptors in flight: the way of each through the codec",
    r"(offload|prefetch)_fetcher\.part_\d+": "descriptors that are fetched or pushed, until the channel takes them",
    r"(offload|prefetch)_fetcher\.addresses": "addresses of the fetched descriptors",
    r"(offload|prefetch)_fetcher\.faults": "errors of the fetches",
    r"(offload|prefetch)_completions\.pending\.memory": "completions whose write is in flight",
    r"rings\.asking(\.memory)?": "fetches in flight",
    r"rings\.writer\.\w+(\.memory)?": "completions on their way to host memory",
    r"rings\.coalescer\.\w+": "coalescing times, and how long completions have waited",
    r"rings\.(\w+\.)*\w+": "records and addresses on their way between rings and host port",
    r"host_(reads|writes)\.owners(\.memory)?": "the client whose data comes next on the host port",
    r"host_crossing\.(ar|aw|w|r|b)\.memory": "transfers of the host port between two clocks",
    r"host_crossing\.finishing\.lengths\.memory": "lengths of bursts whose data follows at the host port",
    r"register_crossing\.\w+\.\w+\.memory": "accesses to registers between two clocks",
    r"counters\.limb_\d+": "counters of both channels, 16 bits of each",
    r"counters\.(offload|prefetch)_copy(_\d+)?": "counters of a channel as software reads them",
    r"windows\.(bases|limits)": "address windows",
    r"register_file\.memory": "registers that software writes",
    **CODEC_PURPOSES,
}
