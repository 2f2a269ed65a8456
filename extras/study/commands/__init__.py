"""The commands of the study, which :mod:`cdma.wings` finds: all are ``cdma study …``."""

__all__ = ["COMMANDS", "EXAMPLES"]

COMMANDS = ("cdma.study.commands.command",)

EXAMPLES: dict[str, tuple[str, ...]] = {
    "study bench queue": ("",),
    "study bench formats": ("",),
    "study bench words": ("", "--markdown"),
    "study bench bounded": ("", "--relative -4 --json"),
    "study bench lossy": ("--networks vgg", "--seeds 5 --resume trainings.jsonl"),
    "study profile": ("activations/", "activations.npz --link 25 --units 2 --html report.html"),
    "study characterise": ("", "--figures figures"),
    "study model step": ("", "--network vgg16 --policy cdma", "--link pcie3 nvlink2 --json"),
    "study model tensors": ("--network vgg16",),
    "study model trace": ("step.json --network vgg16 --policy cdma",),
    "study model several": ("--network vgg16 --devices 1 4 --links 1 2",),
    "study model decode": ("65536 --network gpt2",),
    "study model residuals": ("rows.json", "rows.json --machine mine.toml --json"),
    "study model pictures": ("pictures rows.json",),
    "study model figures": ("figures",),
    "study model list": ("",),
    "study model assumptions": ("> mine.toml",),
    "study model measure": ("engine cycles.json",),
    "study tune hardware": ("--network vgg16 --area 400 -o engine.toml", "--compare --sampler tpe"),
    "study tune software": ("--size 64 --density 0.3", "--sampler grid -o best.toml", "--compare"),
    "study tune gpu": (
        "--kernel both --keep",
        "--format bf16 --density 1 --sampler random --trials 30",
        "--kernel both --compare --network vgg16 --json",
    ),
}  # fmt: skip
