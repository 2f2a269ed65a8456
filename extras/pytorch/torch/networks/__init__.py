"""Networks to train and to measure with: small ones, those of the papers in full size, and decoders."""

__all__ = ["NETWORKS"]

#: The small networks.
NETWORKS = ("alexnet", "vgg", "squeezenet", "resnet")
