"""Models of Hugging Face, which are streamed, trained and swapped by a line each; where the package is installed."""

from __future__ import annotations

import pytest
import torch

transformers = pytest.importorskip("transformers")

import cdma.torch  # noqa: E402
from cdma.base.errors import ParameterError  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

_SMALL = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 8, "num_attention_heads": 4}


CACHED = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"n_layer": 3, "n_embd": 64, "n_head": 4}),
    "llama": ("LlamaForCausalLM", "LlamaConfig", _SMALL | {"num_hidden_layers": 3, "num_key_value_heads": 2}),
    # All tokens before the last eight are left out.
    "sliding window": (
        "MistralForCausalLM",
        "MistralConfig",
        _SMALL | {"num_hidden_layers": 3, "num_key_value_heads": 2, "sliding_window": 8},
    ),
}


@pytest.mark.filterwarnings("ignore:.past_key_values")
@pytest.mark.parametrize("name", CACHED)
@pytest.mark.parametrize("sampled", [False, True], ids=["greedy", "sampled"])
def test_a_model_writes_the_same_tokens_with_keys_and_values_on_the_host(name, sampled):
    kind, config, options = CACHED[name]
    torch.manual_seed(0)
    model = getattr(transformers, kind)(getattr(transformers, config)(vocab_size=200, **options)).eval()
    tokens = torch.randint(1, 200, (2, 40))

    def written(**given):
        torch.manual_seed(1)
        return model.generate(tokens, max_new_tokens=24, min_new_tokens=24, do_sample=sampled, **given)

    expected = written()
    cache = cdma.torch.cache(device_bytes=1 << 14, block=16)
    assert isinstance(cache, transformers.Cache)
    assert torch.equal(written(past_key_values=cache), expected)
    assert cache.get_seq_length() == 40 + 24 - 1
    assert cache.report.cold > 0
    assert cache.report.moved > 0


def test_what_a_cache_on_the_host_can_not_do_is_refused():
    cache = cdma.torch.cache(device_bytes=1 << 20)
    cache.update(torch.ones(1, 1, 2, 8), torch.ones(1, 1, 2, 8), 0)
    for refused in (
        cache.reset,
        lambda: cache.crop(-1),
        lambda: cache.reorder_cache(torch.zeros(1, dtype=int)),
    ):
        with pytest.raises(ParameterError, match="there is no beam search, and a new text takes a new cache"):
            refused()


class Tokens(torch.utils.data.Dataset):
    """Texts of random tokens."""

    def __init__(self) -> None:
        source = torch.Generator().manual_seed(1)
        self.texts = torch.randint(1, 200, (8, 12), generator=source)

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, place):
        return {"input_ids": self.texts[place], "labels": self.texts[place]}


def trained(tmp_path, *callbacks):
    """The weights behind a few steps of a Trainer."""
    torch.manual_seed(0)
    kind, config, options = CACHED["llama"]
    model = getattr(transformers, kind)(getattr(transformers, config)(vocab_size=200, **options))
    arguments = transformers.TrainingArguments(
        str(tmp_path),
        max_steps=4,
        per_device_train_batch_size=2,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
    )
    trainer = transformers.Trainer(model, arguments, train_dataset=Tokens(), callbacks=list(callbacks))
    trainer.train()
    return [weight.detach().clone() for weight in model.parameters()]


@pytest.mark.parametrize("make", ["saved", "offload"])
def test_a_trainer_trains_as_it_does_without_the_callback(make, tmp_path):
    pytest.importorskip("accelerate")
    callback = cdma.torch.trainer_callback(
        getattr(cdma.torch, make), lambda optimizer: cdma.torch.stream(optimizer, device_bytes=700_000)
    )
    assert all(map(torch.equal, trained(tmp_path, callback), trained(tmp_path)))
    kept, states = callback.entered
    assert kept.report.passes == states.report.passes == 4
    assert states.report.moved > 0
    # A block has ended, so that another one can begin.
    callback.close()
    trained(tmp_path, callback)
