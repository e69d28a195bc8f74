/// Which tokens the sampler keeps, against the definitions and transformers.

#include "engine/generate/sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/generate/generate.hpp"
#include "engine/tensor/error.hpp"
#include "tests/support/random_model.hpp"

namespace attn {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

struct Kept {
    std::size_t id = 0;
    long double weight = 0, before = 0;
    Cut cut = Cut::None;
};

/// Computed from the definitions: sorts all tokens, then truncates by one setting after the other.
std::vector<Kept> sorted_and_cut(const std::vector<float>& logits, const SamplingSettings& settings) {
    std::vector<Kept> all;
    const long double largest = *std::max_element(logits.begin(), logits.end());
    for (std::size_t id = 0; id < logits.size(); ++id) {
        const long double heat = static_cast<long double>(settings.temperature);
        all.push_back({id, settings.temperature == 0 ? 0 : std::exp((static_cast<long double>(logits[id]) - largest) / heat)});
    }
    std::stable_sort(all.begin(), all.end(), [&](const Kept& a, const Kept& b) { return logits[a.id] > logits[b.id]; });
    if (settings.temperature == 0) all[0].weight = 1;
    long double sum = 0;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank].weight == 0) all[rank].cut = Cut::Temperature;
        else if (settings.top_k > 0 && rank >= static_cast<std::size_t>(settings.top_k)) all[rank].cut = Cut::TopK;
        if (all[rank].cut == Cut::None) sum += all[rank].weight;
    }
    long double reached = 0;
    for (Kept& one : all) {
        one.before = reached / sum;
        if (one.cut != Cut::None) continue;
        reached += one.weight;
        if (settings.top_p < 1 && one.before >= static_cast<long double>(settings.top_p)) one.cut = Cut::TopP;
    }
    for (Kept& one : all)
        if (one.cut == Cut::None && one.weight < static_cast<long double>(settings.min_p)) one.cut = Cut::MinP;
    return all;
}

SamplingSettings random_settings(std::mt19937& random, std::size_t size) {
    const double temperatures[] = {0, 0.3, 1, 2.2}, shares[] = {1e-9, 0.317, 0.777, 0.9503, 1}, least[] = {0, 1e-6, 0.0503, 0.41, 1};
    return {.temperature = temperatures[random() % 4],
            .top_k = static_cast<std::int64_t>(random() % (size + 3)),
            .top_p = shares[random() % 5],
            .min_p = least[random() % 5]};
}

TEST(Sampler, KeepsWhatTheDefinitionsKeepAndSaysWhyTheRestIsCut) {
    std::mt19937 random(11);
    std::size_t cut_by[5] = {};
    for (int round = 0; round < 600; ++round) {
        std::vector<float> logits(1 + random() % 40);
        const bool ties = random() % 3 == 0;
        for (float& logit : logits) logit = ties ? static_cast<float>(random() % 5) : std::normal_distribution<float>(0, 3)(random);
        if (logits.size() > 1 && random() % 4 == 0) logits[random() % (logits.size() - 1)] = kNever;
        const SamplingSettings settings = random_settings(random, logits.size());
        SCOPED_TRACE(testing::Message() << "round " << round << ": temperature " << settings.temperature << ", top-k " << settings.top_k
                                        << ", top-p " << settings.top_p << ", min-p " << settings.min_p);
        const std::vector<Kept> expected = sorted_and_cut(logits, settings);
        long double all = 0, kept = 0, plain = 0;
        std::int64_t count = 0;
        const long double largest = *std::max_element(logits.begin(), logits.end());
        for (const Kept& one : expected) {
            all += one.weight;
            plain += std::exp(static_cast<long double>(logits[one.id]) - largest);
            if (one.cut == Cut::None) kept += one.weight, ++count;
        }
        const std::size_t most = 1 + random() % (logits.size() + 2);
        const Candidates candidates = candidates_of(logits, settings, most);
        const std::vector<double> distribution = sampling_distribution(logits, settings);
        ASSERT_EQ(candidates.likeliest.size(), std::min(most, logits.size()));
        EXPECT_EQ(candidates.kept, count);
        EXPECT_NEAR(candidates.kept_share, static_cast<double>(kept / all), 1e-12);
        for (std::size_t rank = 0; rank < expected.size(); ++rank) {
            const Kept& one = expected[rank];
            const double chance = one.cut == Cut::None ? static_cast<double>(one.weight / kept) : 0;
            EXPECT_NEAR(distribution[one.id], chance, 1e-12);
            EXPECT_EQ(distribution[one.id] == 0, one.cut != Cut::None);
            if (rank >= most) continue;
            const Candidate& candidate = candidates.likeliest[rank];
            EXPECT_EQ(static_cast<std::size_t>(candidate.id), one.id);
            EXPECT_EQ(candidate.cut, one.cut) << "rank " << rank;
            EXPECT_NEAR(candidate.chance, chance, 1e-12);
            EXPECT_NEAR(candidate.heated, static_cast<double>(one.weight / all), 1e-12);
            EXPECT_NEAR(candidate.predicted, static_cast<double>(std::exp(static_cast<long double>(logits[one.id]) - largest) / plain),
                        1e-12);
            ++cut_by[static_cast<std::size_t>(candidate.cut)];
        }
        const auto first = std::find_if(expected.begin(), expected.end(), [](const Kept& one) { return one.cut != Cut::None; });
        EXPECT_EQ(candidates.first_cut, first == expected.end() ? Cut::None : first->cut);
    }
    for (const std::size_t count : cut_by) EXPECT_GT(count, 50U) << "every way to be cut was tried";
}

/// The results of transformers' TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper and MinPLogitsWarper in sequence.
TEST(Sampler, KeepsWhatTransformersKeeps) {
    struct Case {
        std::vector<float> logits;
        SamplingSettings settings;
        std::vector<double> chances;
    };
    const std::vector<Case> cases{
        {{-1.604F, -2.649F, -0.497F, 0.841F, 2.272F, 0.219F, -1.105F, -1.57F, 1.497F, 3.27F},
         {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0.1},
         {0, 0, 0, 0, 0.239603934, 0, 0, 0, 0.110386428, 0.650009638}},
        {{0.546F, -2.467F, -1.917F, 3.2F, 0.406F, -3.464F, -0.167F, -2.326F, -1.259F, -0.976F},
         {.temperature = 0.7, .top_k = 5, .top_p = 1, .min_p = 0},
         {0.021453150, 0, 0, 0.950796547, 0.017564353, 0, 0.007746956, 0, 0, 0.002438994}},
        {{-1.427F, 1.107F, -0.126F, -1.179F, 0.819F, 1.66F, -3.286F, -0.513F, -1.961F, -0.346F},
         {.temperature = 1.3, .top_k = 0, .top_p = 0.8, .min_p = 0},
         {0, 0.247167827, 0.095737113, 0, 0.198051900, 0.378210970, 0, 0, 0, 0.080832190}},
        {{-2.579F, 0.041F, -0.076F, -0.609F, -2.096F, -0.792F, -2.183F, -2.71F, 0.45F, -2.219F},
         {.temperature = 1, .top_k = 6, .top_p = 0.75, .min_p = 0},
         {0, 0.294559756, 0.262035997, 0, 0, 0, 0, 0, 0.443404247, 0}},
        {{2.341F, 1.433F, -3.996F, 0.544F, -2.203F, 0.066F, 0.087F, -3.977F, -0.467F, -0.512F},
         {.temperature = 1.5, .top_k = 0, .top_p = 0.95, .min_p = 0.2},
         {0.436744609, 0.238415559, 0, 0.131808297, 0, 0.095840168, 0.097191366, 0, 0, 0}},
        {{1.924F, -2.363F, 1.476F, -2.198F, -0.663F, -1.681F, 2.897F, 1.136F, 4.863F, 1.284F},
         {.temperature = 0.9, .top_k = 7, .top_p = 0.9, .min_p = 0.3},
         {0, 0, 0, 0, 0, 0, 0, 0, 1, 0}},
        {{1.69F, 1.681F, -1.213F, -0.14F, 2.701F, -0.793F, 0.378F, -0.042F, 1.218F, -0.73F},
         {.temperature = 2, .top_k = 4, .top_p = 0.99, .min_p = 0.05},
         {0.225067835, 0.224057298, 0, 0, 0.373120642, 0, 0, 0, 0.177754226, 0}},
        {{-0.305F, 0.485F, 0.206F, -1.73F, 1.792F, -2.597F, -2.402F, -2.565F, 1.934F, -0.721F},
         {.temperature = 0.5, .top_k = 0, .top_p = 0.5, .min_p = 0.01},
         {0, 0, 0, 0, 0, 0, 0, 0, 1, 0}},
    };
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const std::vector<double> found = sampling_distribution(cases[i].logits, cases[i].settings);
        for (std::size_t id = 0; id < found.size(); ++id) {
            EXPECT_EQ(found[id] == 0, cases[i].chances[id] == 0) << "case " << i << ", token " << id;
            EXPECT_NEAR(found[id], cases[i].chances[id], 1e-8) << "case " << i << ", token " << id;
        }
    }
}

TEST(Sampler, DrawsAsOftenAsItSays) {
    Config config;
    config.vocab_size = 9;
    config.context_length = 4;
    config.d_model = 8;
    config.num_heads = 2;
    config.num_layers = 1;
    config.d_ff = 8;
    config.tied_lm_head = false;
    const Parameters<float> parameters = initial_parameters<float>(config);
    ForwardSettings forward;
    forward.masks.causal = true;
    SamplingSettings settings{.temperature = 1.2, .top_k = 7, .top_p = 0.95, .min_p = 0.2, .tokens = 1};
    const std::vector<std::int32_t> prompt{3, 1};
    std::vector<float> logits;
    std::vector<double> expected, counts(9);
    constexpr int kDraws = 8000;
    for (int seed = 0; seed < kDraws; ++seed) {
        settings.seed = static_cast<std::uint64_t>(seed);
        generate(parameters, {prompt}, forward, settings, [&](const DrawnToken& drawn) {
            logits.assign(drawn.logits.begin(), drawn.logits.end());
            expected = sampling_distribution(logits, settings);
            EXPECT_EQ(std::vector<double>(drawn.chances.begin(), drawn.chances.end()), expected);
            counts[static_cast<std::size_t>(drawn.id)] += 1;
        });
    }
    const auto chi_squared = [&](const std::vector<double>& chances) {
        double sum = 0;
        for (std::size_t id = 0; id < chances.size(); ++id)
            if (chances[id] > 0) sum += std::pow(counts[id] - kDraws * chances[id], 2) / (kDraws * chances[id]);
        return sum;
    };
    for (std::size_t id = 0; id < 9; ++id)
        if (expected[id] == 0) {
            EXPECT_EQ(counts[id], 0) << "token " << id << " is cut off";
        }
    EXPECT_LT(chi_squared(expected), 26) << "at most 6 degrees of freedom: exceeded by chance once in 4,000";
    settings.temperature = 0.6;
    std::vector<double> other = sampling_distribution(logits, settings);
    for (std::size_t id = 0; id < 9; ++id)
        if (expected[id] == 0) other[id] = 0;
    EXPECT_GT(chi_squared(other), 26) << "another temperature is told apart";
}

TEST(Sampler, GoesOnAsIfItHadNeverStopped) {
    testing_support::RandomModel random(3, true);
    random.config.architecture = Architecture::DecoderOnly;
    random.config.lm_head = true;
    random.config.vocab_size = 23;
    random.config.context_length = 64;
    if (random.config.position == PositionKind::Buckets) random.config.position = PositionKind::None;
    const Parameters<float> parameters = random.parameters<float>();
    ForwardSettings forward;
    forward.masks.causal = true;
    const std::vector<std::int32_t> prompt{1, 0};
    const SamplingSettings whole{.temperature = 2, .top_k = 20, .min_p = 0.01, .tokens = 12, .seed = 77};
    const std::vector<std::int32_t> expected = generate(parameters, {prompt}, forward, whole);
    SamplingSettings part = whole;
    part.tokens = 5;
    std::vector<std::int32_t> text = prompt;
    for (const std::int32_t id : generate(parameters, {text}, forward, part)) text.push_back(id);
    part.tokens = 7;
    for (const std::int32_t id : generate(parameters, {.text = text, .drawn = 5}, forward, part)) text.push_back(id);
    EXPECT_EQ(std::vector<std::int32_t>(text.begin() + 2, text.end()), expected);
}

TEST(Sampler, RefusesCutsThatMeanNothing) {
    const std::vector<float> logits{1, 2};
    for (const double bad : {-0.1, 1.1, std::nan("")}) EXPECT_THROW(candidates_of(logits, {.min_p = bad}, 2), ConfigError);
    EXPECT_THROW(candidates_of(std::vector<float>{1, std::nanf("")}, {}, 2), Error);
    EXPECT_THROW(predicted_shares(std::vector<float>{kNever, kNever}), Error);
    EXPECT_TRUE(candidates_of(logits, {}, 0).likeliest.empty());
    const std::vector<double> shares = predicted_shares(std::vector<float>{std::log(3.0F), 0, kNever});
    EXPECT_NEAR(shares[0], 0.75, 1e-6);
    EXPECT_EQ(shares[2], 0);
}

}  // namespace
}  // namespace attn
