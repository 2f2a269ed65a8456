"""Models of Hugging Face, which are streamed, trained and swapped by a line each; where the package is installed."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import cdma.torch  # noqa: E402
from cdma.base.errors import ParameterError  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")

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


@pytest.mark.thorough
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


@pytest.mark.thorough
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
        "offload": lambda: cdma.torch.offload(model, cdma.torch.Cdma()),
    }
    context = contexts[way]()
    for _ in range(2):
        assert all(map(torch.equal, gradients(context), expected))


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


def test_an_accelerated_training_is_as_it_is_without_contexts():
    accelerate = pytest.importorskip("accelerate")

    def weights(within):
        torch.manual_seed(0)
        model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(4)))
        optimizer = torch.optim.AdamW(model.parameters())
        accelerator = accelerate.Accelerator(cpu=True)
        wrapped, stepped = accelerator.prepare(model, optimizer)
        kept = cdma.torch.saved(accelerator.unwrap_model(wrapped)) if within else nullcontext()
        room = 8 * 2 * 64 * 64 * 4
        streamed = cdma.torch.stream(stepped.optimizer, device_bytes=room) if within else nullcontext()
        with streamed:
            for _ in range(3):
                with kept:
                    loss = wrapped(torch.ones(16, 64)).square().mean()
                accelerator.backward(loss)
                stepped.step()
                stepped.zero_grad()
        return [weight.detach().clone() for weight in model.parameters()]

    assert all(map(torch.equal, weights(True), weights(False)))


@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_model_of_torchtune_is_trained_as_without_contexts(checkpointed):
    pytest.importorskip("torchtune")
    from torchtune.models.llama3 import llama3
    from torchtune.modules import TransformerSelfAttentionLayer
    from torchtune.training import set_activation_checkpointing

    def weights(make):
        torch.manual_seed(0)
        model = llama3(200, 3, 4, 2, 64, 64, intermediate_dim=128)
        if checkpointed:
            set_activation_checkpointing(model, {TransformerSelfAttentionLayer})
        optimizer, context = torch.optim.AdamW(model.parameters()), make(model)
        for number in range(4):
            with context:
                logits = model(Tokens().texts)
            torch.nn.functional.cross_entropy(logits.flatten(0, 1), Tokens().texts.flatten()).backward()
            if number % 2:
                optimizer.step()
                optimizer.zero_grad()
        return [weight.detach().clone() for weight in model.parameters()]

    expected = weights(lambda model: nullcontext())
    for make in (
        cdma.torch.saved,
        cdma.torch.offload,
        lambda model: cdma.torch.offload(model, cdma.torch.Recompute("layers")),
    ):
        assert all(map(torch.equal, weights(make), expected))
