"""What the benches of ``cdma.torch`` measure."""
