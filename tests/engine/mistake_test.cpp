/// Deliberate mistakes: computed as in the reference, with the gradients of the broken computation, and diagnosed by name.
#include "engine/plan/mistake.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "engine/doctor/doctor.hpp"
#include "engine/doctor/future_leak.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/model/model_pass.hpp"
#include "engine/model/transformer.hpp"
#include "engine/reference/verify.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/settings_json.hpp"
#include "engine/trace/trace_file.hpp"
#include "engine/train/train_step.hpp"
#include "tests/engine/gradient_check.hpp"
#include "tests/support/random_model.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn {
namespace {

const TokenBatch kTokens{5, {1, 4, 2, 6, 3, 5, 5, 1, 0, 0}, {5, 3}};
const TokenBatch kSource{4, {2, 3, 1, 6, 4, 4, 0, 0}, {4, 2}};
const std::vector<std::int32_t> kTargets{4, 2, 6, 3, 0, 5, 1, 2, kIgnoredTarget, kIgnoredTarget};

Config small_config() {
    Config config;
    config.vocab_size = 7;
    config.context_length = 6;
    config.d_model = 6;
    config.num_heads = 2;
    config.d_ff = 5;
    config.num_layers = 2;
    config.layer_norm_eps = 1e-2;
    return config;
}

ForwardSettings with(Mistake mistake) {
    ForwardSettings settings;
    settings.masks.causal = true;
    settings.mistake = mistake;
    return settings;
}

TEST(Mistake, HasANameAndWordsOfItsOwn) {
    for (const MistakeInfo& info : mistakes()) {
        EXPECT_EQ(mistake_by_name(info.name), info.mistake);
        EXPECT_EQ(mistake_info(info.mistake).name, info.name);
        EXPECT_EQ(std::count_if(mistakes().begin(), mistakes().end(), [&](const MistakeInfo& m) { return m.words == info.words; }), 1);
        EXPECT_GT(info.look.size(), 20U);
        const ForwardSettings settings = with(info.mistake);
        EXPECT_EQ(forward_settings_from_json(to_json(settings).dump(), "test"), settings);
    }
    EXPECT_EQ(mistake_by_name("none"), Mistake::None);
    EXPECT_THROW(mistake_by_name("typo"), ConfigError);
    EXPECT_ANY_THROW(forward_settings_from_json(R"({"mistake": "typo"})", "test"));
}

TEST(Mistake, IsComputedAsTheReferenceComputesIt) {
    for (const MistakeInfo& info : mistakes())
        for (unsigned seed = 0; seed < 40; ++seed) {
            testing_support::RandomModel model(seed);
            model.settings.mistake = info.mistake;
            const auto single = reference::verify(model.trace<float>());
            ASSERT_TRUE(single.ok) << info.name << " seed " << seed << " " << tensor_name(single.first_failure()->id) << " "
                                   << single.first_failure()->problem;
            const auto exact = reference::verify(model.trace<double>(), 1e-12, 1e-12);
            ASSERT_TRUE(exact.ok) << info.name << " seed " << seed << " " << tensor_name(exact.first_failure()->id);
        }
}

/// A mistake without effect would pass the test above.
TEST(Mistake, ChangesTheNumbers) {
    const auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(small_config()));
    const auto right = trace_forward<float>(parameters, kTokens, {}, with(Mistake::None));
    for (const MistakeInfo& info : mistakes()) {
        const auto wrong = trace_forward<float>(parameters, kTokens, {}, with(info.mistake));
        const auto a = wrong.stages.back().value.values(), b = right.stages.back().value.values();
        EXPECT_FALSE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << info.name;
        // Compared with the correct computation, the reference detects the difference.
        Trace<float> denied = wrong;
        denied.settings.mistake = Mistake::None;
        EXPECT_FALSE(reference::verify(denied).ok) << info.name;
    }
}

TEST(Mistake, AMaskAfterTheSoftmaxIsKnownFromThereOn) {
    const auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(small_config()));
    const auto mask_at = [&](Mistake mistake, Stage stage) {
        return trace_forward<float>(parameters, kTokens, {}, with(mistake)).find({stage, 0})->mask;
    };
    EXPECT_EQ(mask_at(Mistake::MaskAfterSoftmax, Stage::Masked), nullptr);
    for (const Stage stage : {Stage::Weights, Stage::Dropped}) {
        const auto late = mask_at(Mistake::MaskAfterSoftmax, stage), right = mask_at(Mistake::None, stage);
        ASSERT_NE(late, nullptr);
        for (std::int64_t t = 0; t < right->queries(); ++t)
            for (std::int64_t s = 0; s < right->keys(); ++s) EXPECT_EQ(late->may_attend(0, 0, t, s), right->may_attend(0, 0, t, s));
    }
}

TEST(Mistake, GradientsAreThoseOfTheBrokenComputation) {
    for (const MistakeInfo& info : mistakes())
        for (int variant = 0; variant < 3; ++variant) {
            SCOPED_TRACE(std::string(info.name) + " " + std::to_string(variant));
            Config config = small_config();
            ForwardSettings settings = with(info.mistake);
            if (variant == 1) config.norm = NormPlacement::Post, settings.dropout = {.attention = 0.3, .residual = 0.2, .seed = 4};
            if (variant == 2) config.architecture = Architecture::EncoderDecoder, config.num_layers = 1;
            // Without residual connections, stacked norms make the loss too nonlinear for differences with this step.
            if (info.mistake == Mistake::NoResidual) config.num_layers = 1;
            Parameters<double> parameters = initial_parameters<double>(config);
            const auto trace = trace_gradients<double>(parameters, kTokens, kSource, kTargets, settings);
            ModelPass<double> pass(parameters);
            Tap<double> none;
            const auto loss = [&] {
                pass.forward(kTokens, kSource, settings, none);
                return pass.loss(kTargets).loss;
            };
            EXPECT_NEAR(loss(), trace.loss, 1e-14);
            pass.backward(none);
            for (std::int64_t i = 0; i < parameters.count(); ++i)
                ASSERT_TRUE(std::abs(pass.gradients().data()[i] - trace.parameters->data()[i]) <= 1e-13) << "untapped " << i;
            for (const ParameterInfo& parameter : parameters.layout().entries()) {
                const std::size_t n = static_cast<std::size_t>(parameter.shape.count());
                // Shifting whole columns before a softmax over columns has no effect; both sides are rounding errors there.
                const double* gradient = trace.parameters->data() + parameter.offset;
                if (std::all_of(gradient, gradient + n, [](double g) { return std::abs(g) < 1e-14; })) continue;
                const double worst =
                    worst_gradient_error({parameters.data() + parameter.offset, n}, {trace.parameters->data() + parameter.offset, n}, loss);
                EXPECT_TRUE(worst <= kGradientTolerance) << parameter.name << " " << worst;
            }
        }
}

TEST(Mistake, TrainsAndIsEvaluatedWithIt) {
    const Config config = small_config();
    TrainSettings settings;
    for (const MistakeInfo& info : mistakes()) {
        settings.forward = with(info.mistake);
        TrainingState<float> broken(initial_parameters<float>(config)), same(initial_parameters<float>(config));
        const StepResult first = broken.step(kTokens, {}, kTargets, settings);
        EXPECT_TRUE(first.applied()) << info.name;
        EXPECT_EQ(first.loss, same.step(kTokens, {}, kTargets, settings).loss);
        const double evaluated = broken.evaluate(kTokens, {}, kTargets, settings).loss;
        settings.forward.mistake = Mistake::None;
        if (info.mistake == Mistake::PaddingOnQueries) continue;  // under a causal mask only padding can see padding
        EXPECT_NE(evaluated, broken.evaluate(kTokens, {}, kTargets, settings).loss) << info.name;
    }
}

/// The doctor's diagnosis of a trace file with this mistake.
doctor::Diagnosis diagnosis_of(Mistake mistake, const ForwardSettings& base, const Config& config) {
    ForwardSettings settings = base;
    settings.mistake = mistake;
    const auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(config));
    TokenBatch tokens{7, {}, {7, 4}};
    for (int i = 0; i < 14; ++i) tokens.ids.push_back((i * 5 + i / 7) % static_cast<std::int32_t>(config.vocab_size));
    const TokenBatch source = config.architecture == Architecture::EncoderDecoder ? tokens : TokenBatch{};
    const Trace<float> trace = trace_forward<float>(parameters, tokens, source, settings);
    const app::test::TemporaryFolder folder;
    const auto texts = TokenTexts{std::vector<std::string>(7, "a"), std::vector<std::string>(4, "b")};
    const auto path = folder.path() / "trace.safetensors";
    write_trace(path, trace, texts, source.size() > 0 ? texts : TokenTexts{});
    return doctor::examine_file(path);
}

/// Bug::Other for mistakes outside the attention.
doctor::Bug bug_that_makes(Mistake mistake) {
    int bug = 0;
    while (bug < static_cast<int>(doctor::Bug::Other) && doctor::mistake_of(static_cast<doctor::Bug>(bug)) != mistake) ++bug;
    return static_cast<doctor::Bug>(bug);
}

TEST(Mistake, IsDiagnosedByName) {
    Config config;
    config.vocab_size = 11;
    config.d_model = 24;
    config.num_heads = 3;
    config.d_ff = 20;
    for (const Architecture architecture : {Architecture::DecoderOnly, Architecture::EncoderDecoder})
        for (const NormPlacement norm : {NormPlacement::Pre, NormPlacement::Post}) {
            config.architecture = architecture;
            config.norm = norm;
            ForwardSettings settings = with(Mistake::None);
            const doctor::Diagnosis right = diagnosis_of(Mistake::None, settings, config);
            EXPECT_EQ(right.verdict, doctor::Verdict::Correct) << right.explanation;
            for (const MistakeInfo& info : mistakes()) {
                const doctor::Diagnosis found = diagnosis_of(info.mistake, settings, config);
                const doctor::Bug expected = bug_that_makes(info.mistake);
                EXPECT_EQ(found.verdict, doctor::Verdict::Wrong) << info.name << ": " << found.explanation;
                EXPECT_EQ(found.bug, expected) << info.name << ": " << found.explanation;
                if (expected == doctor::Bug::Other) {
                    EXPECT_NE(found.explanation.find(info.name), std::string::npos) << found.explanation;
                }
                if (architecture == Architecture::DecoderOnly && norm == NormPlacement::Pre)
                    std::printf("%-30s -> %-30s at %s\n", std::string(info.name).c_str(),
                                found.bug ? std::string(doctor::bug_name(*found.bug)).c_str() : "none", found.stage.c_str());
            }
        }
}

TEST(Mistake, NoFalseAlarmOnItsOwnTraces) {
    for (unsigned seed = 0; seed < 120; ++seed) {
        testing_support::RandomModel model(seed);
        const app::test::TemporaryFolder folder;
        const Trace<float> trace = model.trace<float>();
        const auto texts = [](const TokenBatch& batch) {
            TokenTexts out;
            for (const std::int64_t length : batch.lengths) out.emplace_back(static_cast<std::size_t>(length), "x");
            return out;
        };
        const auto path = folder.path() / "trace.safetensors";
        write_trace(path, trace, texts(model.tokens), texts(trace.source_tokens));
        const doctor::Diagnosis found = doctor::examine_file(path);
        EXPECT_NE(found.verdict, doctor::Verdict::Wrong) << "seed " << seed << " " << found.explanation;
    }
}

TEST(FutureLeak, ListsTheEarlierPositionsThatMove) {
    const auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(small_config()));
    const auto leaks = [&](const ForwardSettings& settings, std::int64_t position) {
        std::vector<std::int64_t> out;
        for (const doctor::Leak& leak : doctor::future_leaks(trace_forward<float>(parameters, kTokens, {}, settings), 0, position)) {
            EXPECT_GT(leak.change, 0);
            out.push_back(leak.position);
        }
        return out;
    };
    using Positions = std::vector<std::int64_t>;
    for (std::int64_t position = 0; position < 5; ++position) EXPECT_EQ(leaks(with(Mistake::None), position), Positions{});
    // With two layers, a leak of one position reaches two positions back.
    EXPECT_EQ(leaks(with(Mistake::CausalLeaksOne), 4), (Positions{2, 3}));
    EXPECT_EQ(leaks(with(Mistake::MaskMissing), 4), (Positions{0, 1, 2, 3}));
    EXPECT_EQ(leaks(with(Mistake::InvertedMask), 3), (Positions{0, 1, 2}));
    EXPECT_EQ(leaks(with(Mistake::NoScale), 4), Positions{});
    const auto trace = trace_forward<float>(parameters, kTokens, {}, with(Mistake::None));
    EXPECT_THROW(doctor::future_leaks(trace, 0, 5), Error);
    EXPECT_THROW(doctor::future_leaks(trace, 2, 0), Error);
    EXPECT_THROW(doctor::future_leaks(trace, 1, 3), Error);  // padding
}

}  // namespace
}  // namespace attn
