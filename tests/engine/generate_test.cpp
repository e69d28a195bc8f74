#include "engine/generate/generate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "engine/model/cached_pass.hpp"
#include "engine/model/text_rules.hpp"
#include "engine/model/transformer.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

/// Computed from the definition, token by token in long double: a token's rank is the number of tokens before it.
std::vector<double> distribution_by_definition(const std::vector<float>& logits, const SamplingSettings& settings) {
    const std::size_t size = logits.size();
    const auto before = [&](std::size_t a, std::size_t b) { return logits[a] > logits[b] || (logits[a] == logits[b] && a < b); };
    std::vector<long double> mass(size);
    long double sum = 0;
    for (std::size_t id = 0; id < size; ++id) {
        std::size_t rank = 0;
        for (std::size_t other = 0; other < size; ++other) rank += before(other, id) ? 1 : 0;
        if (settings.temperature == 0) {
            mass[id] = rank == 0 ? 1 : 0;
        } else if (settings.top_k == 0 || rank < static_cast<std::size_t>(settings.top_k)) {
            const long double largest = *std::max_element(logits.begin(), logits.end());
            mass[id] = std::exp((static_cast<long double>(logits[id]) - largest) / static_cast<long double>(settings.temperature));
        }
        sum += mass[id];
    }
    for (long double& m : mass) m /= sum;
    // A token is kept if those before it have not reached p.
    std::vector<double> out(size);
    long double kept = 0;
    std::vector<bool> stays(size);
    for (std::size_t id = 0; id < size; ++id) {
        long double reached = 0;
        for (std::size_t other = 0; other < size; ++other)
            if (before(other, id)) reached += mass[other];
        stays[id] = settings.top_p >= 1 || reached < static_cast<long double>(settings.top_p);
        if (stays[id]) kept += mass[id];
    }
    for (std::size_t id = 0; id < size; ++id) out[id] = stays[id] ? static_cast<double>(mass[id] / kept) : 0;
    return out;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
    if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double difference = std::abs(a[i] - b[i]);
        if (!(difference <= worst)) worst = difference;
    }
    return worst;
}

TEST(SamplingDistribution, IsTheDefinitions) {
    std::mt19937 random(7);
    for (int round = 0; round < 400; ++round) {
        const std::size_t size = 1 + random() % 40;
        std::vector<float> logits(size);
        const bool ties = random() % 2 == 0;
        for (float& logit : logits) logit = ties ? static_cast<float>(random() % 5) : std::normal_distribution<float>(0, 3)(random);
        if (size > 1 && random() % 4 == 0) logits[random() % size] = -std::numeric_limits<float>::infinity();
        if (std::all_of(logits.begin(), logits.end(), [](float l) { return std::isinf(l); })) continue;
        SamplingSettings settings;
        const double temperatures[] = {0, 0.1, 0.7, 1, 3};
        const double shares[] = {1e-9, 0.313, 0.777, 0.9501, 1};
        settings.temperature = temperatures[random() % 5];
        settings.top_k = static_cast<std::int64_t>(random() % (size + 3));
        settings.top_p = shares[random() % 5];
        EXPECT_LE(largest_difference(sampling_distribution(logits, settings), distribution_by_definition(logits, settings)), 1e-12)
            << "round " << round << ", temperature " << settings.temperature << ", top-k " << settings.top_k << ", top-p "
            << settings.top_p;
    }
    // Negative control: another temperature gives another distribution.
    const std::vector<float> logits{0, 1, 2};
    EXPECT_GT(largest_difference(sampling_distribution(logits, {.temperature = 1}), distribution_by_definition(logits, {.temperature = 2})),
              0.05);
}

TEST(SamplingDistribution, BreaksTiesBySmallerId) {
    const std::vector<float> logits{1, 5, 5, 5, 2};
    EXPECT_EQ(sampling_distribution(logits, {.temperature = 0}), (std::vector<double>{0, 1, 0, 0, 0}));
    EXPECT_EQ(sampling_distribution(logits, {.top_k = 2}), (std::vector<double>{0, 0.5, 0.5, 0, 0}));
    EXPECT_EQ(sampling_distribution(logits, {.top_p = 0.25}), (std::vector<double>{0, 1, 0, 0, 0}));
    const std::vector<float> equal(4, 0.25F);
    EXPECT_EQ(sampling_distribution(equal, {.top_p = 0.5}), (std::vector<double>{0.5, 0.5, 0, 0})) << "two reach one half exactly";
    EXPECT_EQ(sampling_distribution(equal, {.top_p = 0.500001}).back(), 0);
    EXPECT_GT(sampling_distribution(equal, {.top_p = 0.500001})[2], 0);
}

TEST(SamplingDistribution, TopPLooksAtWhatTopKLeft) {
    // exp: 4, 2, 1, 1 of 8. Of the first two, the first alone has 2/3.
    const std::vector<float> logits{std::log(4.0F), std::log(2.0F), 0, 0};
    EXPECT_EQ(sampling_distribution(logits, {.top_k = 2, .top_p = 0.6})[1], 0);
    EXPECT_GT(sampling_distribution(logits, {.top_k = 0, .top_p = 0.6})[1], 0);
}

TEST(SamplingDistribution, BearsTheExtremes) {
    const std::vector<float> far{-3e38F, 3e38F, 0};
    EXPECT_EQ(sampling_distribution(far, {}), (std::vector<double>{0, 1, 0}));
    EXPECT_EQ(sampling_distribution(far, {.temperature = 1e-300}), (std::vector<double>{0, 1, 0}));
    const std::vector<double> flat = sampling_distribution(std::vector<float>{1, 2}, {.temperature = 1e300});
    EXPECT_EQ(flat, (std::vector<double>{0.5, 0.5}));
}

TEST(SamplingDistribution, RefusesWhatItCannotDrawFrom) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    for (const std::vector<float>& bad : {std::vector<float>{}, {1, nan}, {1, inf}, {-inf, -inf}})
        EXPECT_THROW(sampling_distribution(bad, {}), Error);
    const std::vector<float> logits{1, 2};
    for (const SamplingSettings& bad :
         {SamplingSettings{.temperature = -1}, SamplingSettings{.temperature = std::nan("")}, SamplingSettings{.temperature = HUGE_VAL},
          SamplingSettings{.top_k = -1}, SamplingSettings{.top_p = 0}, SamplingSettings{.top_p = 1.01},
          SamplingSettings{.top_p = std::nan("")}, SamplingSettings{.tokens = -1}})
        EXPECT_THROW(sampling_distribution(logits, bad), ConfigError);
}

Config small_model() {
    Config config;
    config.vocab_size = 11;
    config.context_length = 6;
    config.d_model = 16;
    config.num_heads = 2;
    config.num_layers = 2;
    config.d_ff = 32;
    return config;
}

ForwardSettings causal() {
    ForwardSettings settings;
    settings.masks.causal = true;
    return settings;
}

/// The logits after the last token of `ids`, computed stage by stage as in traces.
std::vector<float> last_logits(const Parameters<float>& parameters, std::vector<std::int32_t> ids, const ForwardSettings& settings) {
    const auto length = static_cast<std::int64_t>(ids.size());
    const Trace<float> trace =
        trace_forward<float>(std::make_shared<Parameters<float>>(parameters), {length, std::move(ids), {length}}, {}, settings);
    const Tensor<float>& logits = trace.find({Stage::Logits})->value;
    const std::int64_t size = parameters.config().vocab_size;
    const float* last = logits.data() + (length - 1) * size;
    return {last, last + size};
}

TEST(Generate, WritesTheLikeliestTokensAlsoBeyondTheContext) {
    const Parameters<float> parameters = initial_parameters<float>(small_model());
    SamplingSettings settings{.temperature = 0, .tokens = 15};
    const std::vector<std::int32_t> prompt{3, 1, 4};
    std::vector<std::int32_t> seen;
    const auto written = generate(parameters, {prompt}, causal(), settings, [&](const DrawnToken& drawn) { seen.push_back(drawn.id); });
    EXPECT_EQ(seen, written);
    std::vector<std::int32_t> text = prompt;
    for (int i = 0; i < 15; ++i) {
        const std::size_t window = std::min<std::size_t>(6, text.size());
        const std::vector<float> logits = last_logits(parameters, {text.end() - static_cast<std::ptrdiff_t>(window), text.end()}, causal());
        text.push_back(static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    }
    EXPECT_EQ(written, std::vector<std::int32_t>(text.begin() + 3, text.end()));
    EXPECT_TRUE(generate(parameters, {prompt}, causal(), {.tokens = 0}).empty());
}

TEST(Generate, WritesTheSameFromAllOfTheTextAtEveryToken) {
    for (unsigned seed = 0; seed < 60; ++seed) {
        testing_support::RandomModel random(seed, seed % 2 == 1);
        random.config.architecture = Architecture::DecoderOnly;
        random.config.lm_head = true;
        if (random.config.position == PositionKind::Buckets) random.config.position = PositionKind::None;
        const Parameters<float> parameters = random.parameters<float>();
        ForwardSettings settings = causal();
        settings.temperature = random.settings.temperature;
        // A window longer than any text masks nothing, but forces a pass over the whole text.
        ForwardSettings whole = settings;
        whole.masks.window = 1000;
        ASSERT_TRUE(prefix_stays(random.config, settings) && !prefix_stays(random.config, whole));
        for (std::int64_t length = 1; length <= random.config.context_length + 1; ++length) {
            std::vector<std::int32_t> prompt(static_cast<std::size_t>(length));
            for (std::int32_t& id : prompt) id = static_cast<std::int32_t>(random.between(0, random.config.vocab_size - 1));
            for (const double temperature : {0.0, 1.4}) {
                const SamplingSettings sampling{.temperature = temperature, .tokens = 2 + random.config.context_length, .seed = seed};
                EXPECT_EQ(generate(parameters, {prompt}, settings, sampling), generate(parameters, {prompt}, whole, sampling))
                    << "seed " << seed << ", a prompt of " << length << ", temperature " << temperature;
            }
        }
    }
}

TEST(Generate, DrawsAsOftenAsTheProbabilitySays) {
    const Parameters<float> parameters = initial_parameters<float>(small_model());
    const std::vector<std::int32_t> prompt{5, 2};
    SamplingSettings settings{.temperature = 1.3, .top_k = 6, .tokens = 1};
    const std::vector<double> expected = distribution_by_definition(last_logits(parameters, prompt, causal()), settings);
    constexpr int kDraws = 6000;
    std::vector<double> counts(expected.size());
    for (int seed = 0; seed < kDraws; ++seed) {
        settings.seed = static_cast<std::uint64_t>(seed);
        counts[static_cast<std::size_t>(generate(parameters, {prompt}, causal(), settings)[0])] += 1;
    }
    const auto chi_squared = [&](const std::vector<double>& probabilities) {
        double sum = 0;
        for (std::size_t id = 0; id < counts.size(); ++id) {
            if (probabilities[id] == 0) {
                EXPECT_EQ(counts[id], 0) << "token " << id << " was cut off";
                continue;
            }
            const double wanted = kDraws * probabilities[id];
            sum += (counts[id] - wanted) * (counts[id] - wanted) / wanted;
        }
        return sum;
    };
    constexpr double kLimit = 25;  // 5 degrees of freedom: exceeded by chance once in 7,000
    EXPECT_LT(chi_squared(expected), kLimit);
    // Negative control: slightly different probabilities are detected.
    settings.temperature = 1;
    EXPECT_GT(chi_squared(distribution_by_definition(last_logits(parameters, prompt, causal()), settings)), kLimit);
}

TEST(Generate, DependsOnSeedAndSettingsNotOnThreads) {
    Config config = small_model();
    config.context_length = 128;
    config.d_model = 64;
    config.tied_lm_head = false;  // a random tied embedding as head would only repeat the last token
    const Parameters<float> parameters = initial_parameters<float>(config);
    std::vector<std::int32_t> prompt(100);
    for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<std::int32_t>(i * i % 11);
    const SamplingSettings settings{.temperature = 1.5, .tokens = 60, .seed = 9};
    std::set<std::vector<std::int32_t>> texts;
    for (const int count : {1, 2, 4}) {
        const ThreadScope scope(count);
        texts.insert(generate(parameters, {prompt}, causal(), settings));
    }
    EXPECT_EQ(texts.size(), 1U);
    SamplingSettings other = settings;
    other.seed = 10;
    EXPECT_FALSE(texts.contains(generate(parameters, {prompt}, causal(), other)));
    ForwardSettings with_dropout = causal();
    with_dropout.dropout.residual = 0.5;
    EXPECT_TRUE(texts.contains(generate(parameters, {prompt}, with_dropout, settings))) << "dropout has no part in writing";
}

TEST(Generate, RefusesWhatCannotWriteAndStopsWhenAsked) {
    const std::vector<std::int32_t> prompt{1};
    Config config = small_model();
    const Parameters<float> parameters = initial_parameters<float>(config);
    EXPECT_THROW(generate(parameters, {}, causal(), {}), Error);
    for (const std::int32_t id : {-1, 11}) EXPECT_THROW(generate(parameters, {std::vector<std::int32_t>{id}}, causal(), {}), Error);
    EXPECT_THROW(generate(parameters, {prompt}, causal(), {.temperature = -1}), ConfigError);
    config.lm_head = false;
    EXPECT_THROW(generate(initial_parameters<float>(config), {prompt}, causal(), {}), ConfigError);
    config.lm_head = true;
    config.architecture = Architecture::Encoder;
    EXPECT_THROW(generate(initial_parameters<float>(config), {prompt}, causal(), {}), ConfigError);
    config.architecture = Architecture::EncoderDecoder;
    EXPECT_THROW(generate(initial_parameters<float>(config), {prompt}, causal(), {}), Error) << "it has nothing to translate";
    const std::vector<std::int32_t> outside{11};
    EXPECT_THROW(generate(initial_parameters<float>(config), {prompt, outside}, causal(), {}), Error);
    std::stop_source source;
    int written = 0;
    EXPECT_THROW(generate(
                     parameters, {prompt}, causal(), {.tokens = 100},
                     [&](const DrawnToken&) {
                         if (++written == 3) source.request_stop();
                     },
                     source.get_token()),
                 Cancelled);
    EXPECT_EQ(written, 3);
    Parameters<float> bad = parameters;
    std::fill_n(bad.data(), bad.count(), std::numeric_limits<float>::quiet_NaN());
    EXPECT_THROW(generate(bad, {prompt}, causal(), {}), Error);
}

/// The likeliest token after each full pass over the text so far.
TEST(Generate, TranslatesWhatTheSourceSays) {
    int other_answers = 0;
    for (std::uint64_t seed = 1; seed < 6; ++seed) {
        Config config = small_model();
        config.architecture = Architecture::EncoderDecoder;
        config.tied_lm_head = false;
        config.seed = seed;
        const auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(config));
        const std::vector<std::int32_t> prompt{3}, source{1, 4, 1, 5}, other{2, 2, 6};
        const auto likeliest_after = [&](const std::vector<std::int32_t>& text, const std::vector<std::int32_t>& from) {
            const auto batch = [](const std::vector<std::int32_t>& ids) {
                return TokenBatch{static_cast<std::int64_t>(ids.size()), ids, {static_cast<std::int64_t>(ids.size())}};
            };
            const auto trace = trace_forward<float>(parameters, batch(text), batch(from), causal());
            const auto logits = trace.find({Stage::Logits, -1, Stack::Decoder})->value.values();
            const auto last = logits.last(static_cast<std::size_t>(config.vocab_size));
            return static_cast<std::int32_t>(std::max_element(last.begin(), last.end()) - last.begin());
        };
        const SamplingSettings greedy{.temperature = 0, .tokens = 5};
        std::vector<std::int32_t> expected;
        for (std::vector<std::int32_t> text = prompt; expected.size() < 5; text.push_back(expected.back()))
            expected.push_back(likeliest_after(text, source));
        EXPECT_EQ(generate(*parameters, {prompt, source}, causal(), greedy), expected);
        const auto end = std::find(expected.begin(), expected.end(), expected[3]);
        EXPECT_EQ(generate(*parameters, {prompt, source, std::span(expected).subspan(3, 1)}, causal(), greedy),
                  std::vector<std::int32_t>(expected.begin(), end + 1))
            << "it ends with the token that ends it";
        const SamplingSettings drawn{.temperature = 1, .tokens = 30, .seed = seed};
        other_answers +=
            generate(*parameters, {prompt, source}, causal(), drawn) != generate(*parameters, {prompt, other}, causal(), drawn);
    }
    EXPECT_GE(other_answers, 3) << "what is written depends on the source";
}

TEST(Generate, WritesTheSameFromWhatIsKept) {
    for (unsigned seed = 0; seed < 40; ++seed) {
        testing_support::RandomModel random(seed, seed % 2 == 1);
        random.config.architecture = Architecture::DecoderOnly;
        random.config.lm_head = true;
        const Parameters<float> parameters = random.parameters<float>();
        random.config.seed += 1;
        const Parameters<float> others = random.parameters<float>();
        ForwardSettings settings = causal(), warmer = causal();
        warmer.temperature = 1.5;
        KeptText kept;
        std::vector<std::int32_t> text{0};
        // Texts of growing length, others with the same beginning, another model and other settings in between, and beyond the context.
        for (int round = 0; round < 8; ++round) {
            const Parameters<float>& model = round == 3 ? others : parameters;
            const ForwardSettings& how = round == 5 ? warmer : settings;
            const SamplingSettings sampling{
                .temperature = 1.4, .tokens = random.between(0, 4), .seed = seed + static_cast<unsigned>(round)};
            const auto written = generate(model, {text}, how, sampling, {}, {}, &kept);
            EXPECT_EQ(written, generate(model, {text}, how, sampling)) << "seed " << seed << ", round " << round;
            text.insert(text.end(), written.begin(), written.end());
            if (round % 3 == 2 && text.size() > 1) text.pop_back();
        }
    }
}

TEST(Generate, ComputesOnFromWhatIsKept) {
    const Parameters<float> parameters = initial_parameters<float>(small_model());
    const std::vector<std::int32_t> prompt{5, 2, 7, 1};
    const SamplingSettings sampling{.temperature = 0, .tokens = 2};
    KeptText kept;
    std::vector<std::int32_t> text = prompt;
    for (const std::int32_t id : generate(parameters, {prompt}, causal(), sampling, {}, {}, &kept)) text.push_back(id);
    EXPECT_EQ(kept.cache.text, std::vector<std::int32_t>(text.begin(), text.end() - 1)) << "of the last token nothing was needed";
    EXPECT_GT(kept.cache.bytes(), 0U);
    // The state after a cancelled call is just as valid.
    std::stop_source stop;
    const auto cancel = [&](const DrawnToken&) { stop.request_stop(); };
    EXPECT_THROW(generate(parameters, {text}, causal(), sampling, cancel, stop.get_token(), &kept), Cancelled);
    EXPECT_EQ(kept.cache.text, text);
    EXPECT_EQ(generate(parameters, {text}, causal(), sampling, {}, {}, &kept), generate(parameters, {text}, causal(), sampling));
    // Cached keys and values under other tokens' ids would be used without question.
    KeptText wrong;
    const std::vector<std::int32_t> other{9, 9, 9, 9, 9};
    generate(parameters, {other}, causal(), {.temperature = 0, .tokens = 1}, {}, {}, &wrong);
    const std::vector<std::int32_t> longer(text.begin(), text.begin() + 5);
    wrong.cache.text = longer;
    std::vector<float> believed, computed;
    const auto logits_of = [&](std::vector<float>& out) {
        return [&out](const DrawnToken& drawn) { out.assign(drawn.logits.begin(), drawn.logits.end()); };
    };
    generate(parameters, {longer}, causal(), {.temperature = 0, .tokens = 1}, logits_of(believed), {}, &wrong);
    generate(parameters, {longer}, causal(), {.temperature = 0, .tokens = 1}, logits_of(computed));
    EXPECT_NE(believed, computed);
}

TEST(Generate, EndsWithAnyOfTheEnds) {
    const Parameters<float> parameters = initial_parameters<float>(small_model());
    const std::vector<std::int32_t> prompt{5, 2};
    const SamplingSettings sampling{.temperature = 3, .tokens = 40, .seed = 3};
    const std::vector<std::int32_t> all = generate(parameters, {prompt}, causal(), sampling);
    for (const std::vector<std::int32_t>& ends : {std::vector<std::int32_t>{4}, std::vector<std::int32_t>{3, 8, 1}}) {
        const auto first = std::find_first_of(all.begin(), all.end(), ends.begin(), ends.end());
        ASSERT_NE(first, all.end());
        const std::vector<std::int32_t> written = generate(parameters, {.text = prompt, .ends = ends}, causal(), sampling);
        EXPECT_EQ(written, std::vector<std::int32_t>(all.begin(), first + 1));
        // An end token inside the prompt has no effect.
        std::vector<std::int32_t> text = prompt;
        text.insert(text.end(), written.begin(), written.end());
        EXPECT_FALSE(generate(parameters, {.text = text, .ends = ends, .drawn = written.size()}, causal(), sampling).empty());
    }
}

TokenBatch one_text(std::vector<std::int32_t> ids) {
    const auto length = static_cast<std::int64_t>(ids.size());
    return {length, std::move(ids), {length}};
}

TEST(FillIn, PutsTheLikeliestWordInEveryBlank) {
    constexpr std::int32_t kHidden = 10;
    for (std::uint64_t seed = 1; seed < 6; ++seed) {
        Config config = small_model();
        config.architecture = Architecture::Encoder;
        config.seed = seed;
        const auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(config));
        const std::vector<std::int32_t> text{kHidden, 4, 2, kHidden, 5};
        const auto trace = trace_forward<float>(parameters, {5, text, {5}}, {}, {});
        const auto logits = trace.find({Stage::Logits})->value.values();
        std::vector<std::int32_t> expected = text;
        for (const std::size_t at : {0U, 3U}) {
            const auto row = logits.subspan(at * 11, 11);
            expected[at] = static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
        }
        EXPECT_EQ(fill_in(*parameters, one_text(text), kHidden, {}, {.temperature = 0}), expected);
        std::set<std::vector<std::int32_t>> drawn;
        for (std::uint64_t draw = 0; draw < 20; ++draw) {
            const auto filled = fill_in(*parameters, one_text(text), kHidden, {}, {.temperature = 3, .seed = draw});
            EXPECT_EQ(filled, fill_in(*parameters, one_text(text), kHidden, {}, {.temperature = 3, .seed = draw}));
            for (const std::size_t at : {1U, 2U, 4U}) EXPECT_EQ(filled[at], text[at]);
            drawn.insert(filled);
        }
        EXPECT_GT(drawn.size(), 5U);
        EXPECT_THROW(fill_in(*parameters, one_text({1, 2}), kHidden, {}, {}), Error);
        EXPECT_THROW(fill_in(*parameters, one_text({kHidden, 11}), kHidden, {}, {}), Error);
        EXPECT_THROW(fill_in(*parameters, {}, kHidden, {}, {}), Error);
    }
    EXPECT_THROW(fill_in(initial_parameters<float>(small_model()), one_text({1}), 1, {}, {}), ConfigError);
}

}  // namespace
}  // namespace attn
