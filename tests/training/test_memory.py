from anyorder.training.memory import advice, estimate, in_words, machine_memory


def test_full_cma_is_advised_against_where_its_matrices_will_not_fit():
    needed = estimate("cma-es", 100_000, 256, 16, 100)
    assert needed.search > 4 * 100_000**2
    assert "sep-cma-es" in str(advice("cma-es", needed, 24 * 2**30))


def test_full_cma_is_advised_against_where_it_will_be_slow():
    assert "913 x 913" in str(advice("cma-es", estimate("cma-es", 913, 256, 16, 100), 24 * 2**30))


def test_small_things_need_no_advice():
    assert advice("cma-es", estimate("cma-es", 113, 256, 16, 100), 24 * 2**30) is None
    assert advice("open-es", estimate("open-es", 913, 256, 16, 100), 24 * 2**30) is None


def test_too_many_episodes_are_noticed():
    needed = estimate("open-es", 913, 4096, 10_000, 1000)
    assert "lower the population" in str(advice("open-es", needed, 24 * 2**30))


def test_sizes_in_words():
    assert in_words(512) == "512 B"
    assert in_words(3 * 2**20) == "3.0 MiB"
    assert in_words(5 * 2**40) == "5.0 TiB"
    assert machine_memory() > 2**28
