"""Models of Hugging Face, which are streamed, trained and swapped by a line each; where the package is installed."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import cdma.torch  # noqa: E402

pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("one_thread")]

_SMALL = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 8, "num_attention_heads": 4}
MODELS = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"n_layer": 8, "n_embd": 64, "n_head": 4}),
    "llama": ("LlamaForCausalLM", "LlamaConfig", _SMALL | {"num_key_value_heads": 2}),
    "mixtral": (
        "MixtralForCausalLM",
        "MixtralConfig",
        _SMALL | {"num_key_value_heads": 2, "num_local_experts": 4},
    ),
    "t5": (
        "T5ForConditionalGeneration",
        "T5Config",
        {
            "d_model": 64,
            "d_ff": 128,
            "d_kv": 16,
            "num_layers": 8,
            "num_heads": 4,
            "decoder_start_token_id": 0,
        },
    ),
}


@pytest.fixture(params=MODELS)
def model(request):
    name, config, options = MODELS[request.param]
    made = getattr(transformers, config)(vocab_size=200, **options)
    return getattr(transformers, name)(made).eval()


@pytest.mark.parametrize("raw", [False, True])
def test_a_model_that_is_streamed_writes_the_same_tokens(model, raw):
    model = model.to(torch.bfloat16)
    size = sum(weight.nbytes for weight in model.parameters())
    tokens = torch.randint(1, 200, (2, 12))

    def written():
        with torch.no_grad():
            return model.generate(tokens, max_new_tokens=8, min_new_tokens=8, do_sample=False)

    expected = written()
    with cdma.torch.stream(model, device_bytes=size // 2, raw=raw) as stream:
        assert torch.equal(written(), expected)
    assert stream.report.moved > size
    assert torch.equal(written(), expected)


@pytest.mark.parametrize("way", ["saved", "offload"])
def test_gradients_are_those_of_plain_training(model, way):
    model.train()
    tokens = torch.randint(1, 200, (2, 12))

    def gradients(context):
        model.zero_grad()
        # For what is dropped.
        torch.manual_seed(3)
        with context:
            loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        return [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]

    expected = gradients(nullcontext())
    contexts = {
        "saved": lambda: cdma.torch.saved(model),
        "offload": lambda: cdma.torch.offload(model, cdma.torch.Cdma(), link=1e9),
    }
    context = contexts[way]()
    for _ in range(2):
        assert all(map(torch.equal, gradients(context), expected))
