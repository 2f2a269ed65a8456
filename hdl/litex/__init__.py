"""The engine as a core of LiteX, which only a SoC that uses it imports."""
