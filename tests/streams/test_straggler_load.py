"""When more work explains more time, and when it does not."""

import random

from streams.detectors.straggler_load import EQUAL, Load, Sample, choose_load


def peers(work: str, seed: int = 3, tokens_vary: bool = True) -> list[list[Sample]]:
    draw = random.Random(seed)
    out = []
    for _ in range(20):
        group = []
        for _ in range(8):
            tokens = draw.randrange(4000, 8000) if tokens_vary else 4096
            squares = tokens * draw.randrange(200, 2000)
            seconds = {
                "tokens": tokens / 4000,
                "squares": tokens / 8000 + squares / 8e6,
                "padded": 2.0,
            }[work]
            group.append(Sample(seconds * draw.gauss(1.0, 0.01), tokens, squares))
        out.append(group)
    return out


def test_time_that_follows_the_tokens_is_divided_by_them() -> None:
    assert choose_load(peers("tokens")) == Load(alpha=1.0)


def test_time_that_follows_the_squares_of_the_lengths_gets_a_fit() -> None:
    load = choose_load(peers("squares"))
    assert load.alpha > 0
    assert load.beta > 0


def test_padded_batches_are_not_divided_by_what_they_did_not_cost() -> None:
    assert choose_load(peers("padded")) == EQUAL


def test_the_same_tokens_everywhere_need_no_model() -> None:
    assert choose_load([[Sample(1.0, 4096, None), Sample(1.2, 4096, None)]] * 9) == EQUAL


def test_unknown_tokens_keep_the_model_there_was() -> None:
    unknown = [[Sample(1.0, None, None), Sample(1.0, 5, None)]]
    assert choose_load(unknown, Load(alpha=1.0)) == Load(alpha=1.0)


def test_a_rank_without_its_tokens_has_no_load() -> None:
    assert Load(alpha=1.0).of(None, None) is None
    assert Load(alpha=1.0).of(0, None) is None
    assert EQUAL.of(None, None) == 1.0
