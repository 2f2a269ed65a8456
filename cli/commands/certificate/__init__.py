"""What holds of one Verilog file, and what does not or was not tried: what ``cdma verify`` writes beside it."""

from .write import add_certificate_options, certify, check_certificate_options

__all__ = ["add_certificate_options", "certify", "check_certificate_options"]
