"""What plain and pipelined codecs are both made of."""
