#include "app/session/document/prepare.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "app/session/document/document_error.hpp"
#include "app/session/document/presets.hpp"
#include "engine/model/transformer.hpp"
#include "engine/tokenizer/own_bpe.hpp"

namespace attn::app {
namespace {

Document with_texts(std::vector<std::string> texts) {
    Document document;
    document.texts = std::move(texts);
    return document;
}

/// The message and field of the document's error; fails the test if there is none.
std::pair<std::string, Field> error_of(const Document& document) {
    try {
        prepare(document);
    } catch (const DocumentError& error) {
        return {error.what(), error.field()};
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
}

TEST(Prepare, IdsFollowTheFirstAppearanceAfterTheSpecialTokens) {
    const Prepared prepared = prepare(with_texts({"b a b", "c"}));
    EXPECT_EQ(prepared.vocabulary, (std::vector<std::string>{"<pad>", "<unk>", "b", "a", "c"}));
    EXPECT_EQ(prepared.config.vocab_size, 5);
    EXPECT_EQ(prepared.tokens.length, 3);
    EXPECT_EQ(prepared.tokens.ids, (std::vector<std::int32_t>{2, 3, 2, 4, 0, 0}));
    EXPECT_EQ(prepared.tokens.lengths, (std::vector<std::int64_t>{3, 1}));
    ASSERT_EQ(prepared.chips.size(), 2U);
    ASSERT_EQ(prepared.chips[1].size(), 3U);
    EXPECT_EQ(prepared.chips[1][0].text, "c");
    EXPECT_FALSE(prepared.chips[1][0].padding);
    EXPECT_TRUE(prepared.chips[1][2].padding);
    EXPECT_EQ(prepared.chips[1][2].id, 0);
}

TEST(Prepare, WithoutSpecialTokensIdsBeginWithTheText) {
    Document document = with_texts({"b a"});
    document.special_tokens = false;
    const Prepared prepared = prepare(document);
    EXPECT_EQ(prepared.vocabulary, (std::vector<std::string>{"b", "a"}));
    EXPECT_EQ(prepared.tokens.ids, (std::vector<std::int32_t>{0, 1}));
}

TEST(Prepare, IdsOfAPresetStayPutWhileOneTypes) {
    Document document = open_preset(kDefaultPreset);
    const Prepared before = prepare(document);
    document.texts = {"zebra mat cat"};
    const Prepared after = prepare(document);
    ASSERT_GT(after.vocabulary.size(), before.vocabulary.size());
    for (std::size_t id = 0; id < before.vocabulary.size(); ++id) EXPECT_EQ(after.vocabulary[id], before.vocabulary[id]);
    EXPECT_EQ(after.chips[0][0].id, static_cast<std::int32_t>(before.vocabulary.size()));
}

TEST(Prepare, ANewWordLeavesEveryOtherParameterAsItWas) {
    for (const Preset& preset : presets()) {
        if (preset.document.shipped != nullptr) continue;  // accepts no new words
        const auto before = initial_parameters<float>(prepare(preset.document).config);
        Document document = preset.document;
        document.texts[0] += " zebra";
        const auto after = initial_parameters<float>(prepare(document).config);
        ASSERT_GT(after.config().vocab_size, before.config().vocab_size);
        for (const ParameterInfo& info : before.layout().entries()) {
            const float* old_values = before.find(info.name);
            const float* new_values = after.find(info.name);
            ASSERT_NE(new_values, nullptr);
            if (info.name == "lm_head.weight") continue;  // its rows depend on the vocabulary
            for (std::int64_t i = 0; i < info.shape.count(); ++i)
                ASSERT_EQ(old_values[i], new_values[i]) << preset.name << " " << info.name;
        }
    }
}

TEST(Prepare, TheContextLengthIsDerivedUnlessItIsSet) {
    EXPECT_EQ(prepare(with_texts({"a b c"})).config.context_length, 64);
    Document document = with_texts({std::string(65, 'x')});
    document.tokenizer = TokenizerKind::Character;
    EXPECT_EQ(prepare(document).config.context_length, 128);
    document.config.context_length = 65;
    EXPECT_EQ(prepare(document).config.context_length, 65);
    document.config.context_length = 64;
    EXPECT_EQ(error_of(document), (std::pair<std::string, Field>{"the text has 65 tokens, but the context length is 64: shorten the text",
                                                                 Field::ContextLength}));
}

TEST(Prepare, OneEmptySequenceIsPaddingAllEmptyIsAProblem) {
    const Prepared prepared = prepare(with_texts({"", "a b"}));
    EXPECT_EQ(prepared.tokens.lengths, (std::vector<std::int64_t>{0, 2}));
    EXPECT_TRUE(prepared.chips[0][0].padding);
    const std::pair<std::string, Field> expected{"type some text", Field::Texts};
    EXPECT_EQ(error_of(with_texts({""})), expected);
    EXPECT_EQ(error_of(with_texts({" \n", ""})), expected);
    EXPECT_EQ(error_of(with_texts({})), expected);
}

TEST(Prepare, SaysWhichSettingIsAtFault) {
    const auto field_after = [](void (*change)(Config&)) {
        Document document = with_texts({"a b c"});
        change(document.config);
        return error_of(document).second;
    };
    EXPECT_EQ(field_after([](Config& c) { c.d_model = 30; }), Field::DModel);
    EXPECT_EQ(field_after([](Config& c) { c.d_model = 0; }), Field::DModel);
    EXPECT_EQ(field_after([](Config& c) { c.d_model = std::numeric_limits<std::int64_t>::max(); }), Field::DModel);
    EXPECT_EQ(field_after([](Config& c) { c.num_heads = 0; }), Field::Heads);
    EXPECT_EQ(field_after([](Config& c) { c.num_kv_heads = 3; }), Field::KeyHeads);
    EXPECT_EQ(field_after([](Config& c) { c.position = PositionKind::Rotary, c.rotary_base = -1; }), Field::RotaryBase);
    EXPECT_EQ(field_after([](Config& c) { c.num_heads = -3; }), Field::Heads);
    EXPECT_EQ(field_after([](Config& c) { c.num_heads = 1'000'000'000; }), Field::Heads);
    EXPECT_EQ(field_after([](Config& c) { c.d_head = -1; }), Field::HeadSize);
    EXPECT_EQ(field_after([](Config& c) { c.num_layers = 0; }), Field::Layers);
    EXPECT_EQ(field_after([](Config& c) { c.d_ff = -1; }), Field::FeedForward);
    EXPECT_EQ(field_after([](Config& c) { c.context_length = -1; }), Field::ContextLength);
    EXPECT_EQ(field_after([](Config& c) { c.layer_norm_eps = std::numeric_limits<double>::quiet_NaN(); }), Field::LayerNormEps);
    EXPECT_EQ(field_at_fault(Config{}), Field::None);
}

TEST(Prepare, SaysWhatWouldBeRightForAWidthThatHeadsDoNotDivide) {
    Document document = with_texts({"a b c"});
    document.config.d_model = 30;
    document.config.num_heads = 4;
    EXPECT_EQ(error_of(document).first, "d_model 30 is not divisible by 4 heads: 28 or 32 would be");
}

TEST(Prepare, SaysWhichForwardSettingIsAtFault) {
    const auto field_after = [](void (*change)(ForwardSettings&)) {
        ForwardSettings settings;
        change(settings);
        return field_at_fault(settings);
    };
    EXPECT_EQ(field_at_fault(ForwardSettings{}), Field::None);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.masks.window = -1; }), Field::Window);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.masks.prefix = -1; }), Field::Prefix);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.masks.block = -1; }), Field::Block);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.masks.painted.push_back({-1, 0}); }), Field::Painted);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.temperature = 0; }), Field::Temperature);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.temperature = std::numeric_limits<double>::quiet_NaN(); }), Field::Temperature);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.dropout.attention = 1.5; }), Field::AttentionDropout);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.dropout.residual = -0.1; }), Field::ResidualDropout);
    EXPECT_EQ(field_after([](ForwardSettings& s) { s.dropout.embedding = std::numeric_limits<double>::quiet_NaN(); }),
              Field::EmbeddingDropout);
}

TEST(Prepare, RefusesAbsurdSizesWithTheMemoryTheyWouldTake) {
    Document document = with_texts({std::string(100'000, 'x'), "y"});  // for a single text, only a few rows are held at a time
    document.tokenizer = TokenizerKind::Character;
    const auto [message, field] = error_of(document);
    EXPECT_EQ(field, Field::Texts);
    EXPECT_NE(message.find("MiB"), std::string::npos) << message;
    EXPECT_NE(message.find("tokens: 100000"), std::string::npos) << message;

    Document wide = with_texts({"a b"});
    wide.config.d_model = 1 << 14;
    wide.config.num_layers = 64;
    EXPECT_EQ(error_of(wide).second, Field::DModel);
}

TEST(Prepare, RefusesATextBeyondTheLimitBeforeReadingIt) {
    EXPECT_EQ(error_of(with_texts({std::string(kTextLimitBytes + 1, 'x')})),
              (std::pair<std::string, Field>{"the text is 129 KiB long; at most 128 KiB can be shown", Field::Texts}));
}

TEST(Prepare, AnEncoderDecoderNeedsATextOnEachSide) {
    Document document = with_texts({"a b", "c"});
    document.config.architecture = Architecture::EncoderDecoder;
    EXPECT_EQ(error_of(document).second, Field::SourceTexts);
    document.source_texts = {"x y z"};
    EXPECT_EQ(error_of(document),
              (std::pair<std::string, Field>{"the encoder has 1 text, the decoder 2: every text needs both", Field::SourceTexts}));
    document.source_texts = {"x y z", "c"};
    const Prepared prepared = prepare(document);
    EXPECT_EQ(prepared.source.length, 3);
    EXPECT_EQ(prepared.tokens.length, 2);
    EXPECT_EQ(prepared.source_chips.at(1).at(0).id, prepared.chips.at(1).at(0).id);
}

TEST(Prepare, TheEstimateIsWhatATraceHolds) {
    std::mt19937 random(1);
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    for (int round = 0; round < 40; ++round) {
        Document document = with_texts({"a b c d e f g h", "b"});
        document.texts.resize(static_cast<std::size_t>(pick(1, 2)));
        Config& config = document.config;
        config.num_heads = pick(1, 3);
        config.d_model = config.num_heads * pick(1, 8);
        config.num_layers = pick(1, 3);
        config.d_ff = pick(1, 40);
        config.residual = pick(0, 1) == 1;
        config.feed_forward = pick(0, 1) == 1;
        config.final_norm = pick(0, 1) == 1;
        config.lm_head = pick(0, 1) == 1;
        config.norm = static_cast<NormPlacement>(pick(0, 2));
        config.position = static_cast<PositionKind>(pick(0, 3));
        config.norm_kind = static_cast<NormKind>(pick(0, 1));
        config.num_kv_heads = pick(0, 1);
        config.ffn_gated = pick(0, 1) == 1;
        config.ffn_bias = pick(0, 1) == 1;
        if (config.position == PositionKind::Rotary) config.d_head = 2 * pick(1, 4);
        const Prepared prepared = prepare(document);
        const auto parameters = std::make_shared<const Parameters<float>>(initial_parameters<float>(prepared.config));
        const Trace<float> trace = trace_forward(parameters, prepared.tokens, prepared.source, document.forward);
        double numbers = static_cast<double>(parameters->count());
        for (const auto& stage : trace.stages) numbers += static_cast<double>(stage.value.size());
        const double mib = numbers * 4 / (1024 * 1024);
        EXPECT_NEAR(prepared.size.whole + prepared.size.parameters, mib, 1e-9) << "round " << round;
    }
}

TEST(Prepare, AFixedVocabularyKeepsItsIdsAndRefusesOtherSymbols) {
    Document document;
    document.tokenizer = TokenizerKind::Character;
    for (const bool special : {true, false}) {
        document.special_tokens = special;
        document.vocabulary = special ? std::vector<std::string>{"<pad>", "<unk>", "b", "a"} : std::vector<std::string>{"x", "y", "b", "a"};
        document.texts = {"ab"};
        const Prepared prepared = prepare(document);
        EXPECT_EQ(prepared.tokens.ids, (std::vector<std::int32_t>{3, 2}));
        EXPECT_EQ(prepared.vocabulary, document.vocabulary);
        EXPECT_EQ(prepared.config.vocab_size, 4);
        document.texts = {"ab", "aéb"};
        try {
            prepare(document);
            FAIL() << "an unknown symbol was accepted";
        } catch (const DocumentError& error) {
            EXPECT_EQ(error.field(), Field::Texts);
            EXPECT_NE(std::string(error.what()).find("“é” is not among them"), std::string::npos) << error.what();
        }
    }
}

TEST(KeptTokenizer, IsPutTogetherOnceForEveryVocabulary) {
    Document setup;
    setup.tokenizer = TokenizerKind::Bpe;
    setup.special_tokens = false;
    setup.vocabulary = train_bpe("the cat and the rat and the hat", 270);
    KeptTokenizer kept;
    const auto last_word = [&] {
        const SharedWords words = kept.of(setup)->vocabulary();
        return words.at(words.size() - 1);
    };
    const ModelTokenizer* pieces = kept.of(setup)->pieces().get();
    setup.texts = {"the hat"};
    EXPECT_EQ(kept.of(setup)->pieces().get(), pieces) << "a typed letter changes no vocabulary";
    setup.vocabulary.pop_back();
    EXPECT_EQ(kept.of(setup)->vocabulary().size(), setup.vocabulary.size());
    setup.vocabulary = {"<pad>", "<unk>", "the", "hat"};
    setup.tokenizer = TokenizerKind::Word;
    setup.special_tokens = true;
    EXPECT_EQ(kept.of(setup)->conventions().token, "word");
    setup.vocabulary.clear();
    EXPECT_EQ(last_word(), "hat");
    setup.texts = {"the mat"};
    EXPECT_EQ(last_word(), "mat") << "a vocabulary of the texts follows them";
    // The cache does not affect the result.
    EXPECT_EQ(prepare(setup, 1000, &kept).tokens, prepare(setup, 1000).tokens);
}

}  // namespace
}  // namespace attn::app
