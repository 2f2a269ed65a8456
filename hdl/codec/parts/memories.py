"""What the memories of the codecs are for. Plain codecs have none."""

from __future__ import annotations

__all__ = ["PURPOSES"]

#: By the end of the path of the instance, as a regular expression.
PURPOSES = {
    r"counts\.memory": "counts of packets, until their reports leave",
    r"packer\.queue\.bank_\d\.memory": "beats of the compressed stream that are complete",
    r"window_memory\.beats\.memory": "beats with routed literals, until the header of their window is known",
    r"window_memory\.headers\.memory": "headers of windows",
    r"(core|codec)\.beats\.memory": "words that are put together again, until they are taken",
    r"intake\.lane_\d+": "words of a lane of the compressed stream",
    r"intake\.header_\d+": "words of a lane of the compressed stream, until the headers among them are read",
    r"intake\.ends\.memory": "ends of packets in the compressed stream",
    r"reports\.(infos|outcomes)\.memory": "counts and errors of packets, until their reports leave",
}
