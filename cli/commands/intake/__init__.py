"""``cdma intake``: one page for the meeting in which a team decides whether to take a block."""
