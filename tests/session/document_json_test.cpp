#include "app/session/document/document_json.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "app/session/document/presets.hpp"
#include "engine/io/file_error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

Document rich_document() {
    Document document = open_preset("encoder-block");
    document.texts = {"naïve “quotes” \\ / \t\n", "", "日本"};
    document.source_texts = {"source"};
    document.tokenizer = TokenizerKind::Character;
    document.special_tokens = false;
    document.config.seed = 18446744073709551615U;
    document.config.d_head = 5;
    document.config.layer_norm_eps = 1.0 / 3;
    document.forward.masks.window = 3;
    document.forward.masks.painted = {{1, 2}, {3, 0}};
    document.forward.temperature = 0.1;
    document.forward.dropout = {0.1, 0.2, 1.0 / 7, 99};
    document.vocabulary = {"a", "ä"};
    document.trained = TrainedModel{7, 1200};
    document.run = default_run(TaskKind::Sort);
    document.run.seed = 18446744073709551615U;
    document.run.batch_size = 7;
    document.run.train.forward.dropout.attention = 1.0 / 3;
    document.sampling = {0, 5, 1.0 / 3, 1.0 / 7, 12, 18446744073709551615U};
    const auto setup = std::make_shared<const app::Setup>(document);
    document.pins.a = State{setup, Drawn{}};
    Look look;
    look.view = View::Grid;
    look.stage = {Stage::Weights, 1, Stack::Decoder, kCrossAttention};
    look.head = 2;
    look.sequence = 1;
    look.cell = {{Axis::T, 4}, {Axis::S, 0}};
    look.gradients = true;
    look.compare = Compare::Itself;
    look.compare_as = CompareLayout::InPlace;
    look.compare_layer = 1;
    look.compare_sequence = 0;
    look.rollout = false;
    look.up_to = 1;
    look.measure = AnswerMeasure::LogitDifference;
    look.against = 5;
    look.replaced = ReplacedParts::FeedForwardPositions;
    look.replaced_from = 1;
    document.look = look;
    document.pins.b = State{std::make_shared<const app::Setup>(open_preset("gpt-tiny")), MomentOfRun{7, 40, nullptr}};
    return document;
}

TEST(DocumentJson, GivesAnEqualDocumentBack) {
    const Document document = rich_document();
    EXPECT_EQ(document_from_json(document_to_json(document), "d"), document);
    Document following = document;
    following.trained->step.reset();
    EXPECT_EQ(document_from_json(document_to_json(following), "d"), following);
    for (const Preset& preset : presets()) EXPECT_EQ(document_from_json(document_to_json(preset.document), "d"), preset.document);
}

/// The names in files stay, so that documents and lessons of others open.
TEST(DocumentJson, KeepsTheNamesOfKnockOut) {
    Document document = open_preset("gpt-tiny");
    const auto written = [&](AnswerMeasure measure, ReplacedParts parts) {
        document.look = Look{};
        document.look->measure = measure;
        document.look->replaced = parts;
        const std::string text = document_to_json(document);
        EXPECT_EQ(document_from_json(text, "d").look, document.look);
        return text;
    };
    EXPECT_EQ(written(AnswerMeasure::Loss, ReplacedParts::Heads).find("\"measure\""), std::string::npos);
    EXPECT_NE(written(AnswerMeasure::Probability, ReplacedParts::Blocks).find("\"probability\""), std::string::npos);
    EXPECT_NE(written(AnswerMeasure::LogitDifference, ReplacedParts::Positions).find("\"logit_difference\""), std::string::npos);
    EXPECT_NE(written(AnswerMeasure::Loss, ReplacedParts::AttentionPositions).find("\"attention_positions\""), std::string::npos);
    EXPECT_NE(written(AnswerMeasure::Loss, ReplacedParts::FeedForwardPositions).find("\"feed_forward_positions\""), std::string::npos);
}

TEST(DocumentJson, LeavesOutComparisonsWithWhatItDoesNotHold) {
    Document document = open_preset("gpt-tiny");
    for (const auto& [compare, again] : {std::pair{Compare::Moment, Compare::Off},
                                         {Compare::PinnedB, Compare::Off},
                                         {Compare::Pinned, Compare::Pinned},
                                         {Compare::Plain, Compare::Plain},
                                         {Compare::Unmasked, Compare::Unmasked},
                                         {Compare::Correct, Compare::Correct}}) {
        document.look = Look{};
        document.look->compare = compare;
        EXPECT_EQ(document_from_json(document_to_json(document), "d").look->compare, again);
    }
    EXPECT_THROW(document_from_json(R"({"format": "attnscope-document/1", "texts": ["a"], "look": {"compare": "x"}})", "d"), FileError);
    EXPECT_THROW(document_from_json(R"({"format": "attnscope-document/1", "texts": ["a"], "look": {"somewhere": 1}})", "d"), FileError);
}

TEST(DocumentJson, WhatIsWrittenGoesOnFromATextThatThereIs) {
    const auto with_writing = [](const std::string& sequence, const std::string& rest) {
        return R"({"format": "attnscope-document/1", "texts": ["a", "b"], "writing": {"sequence": )" + sequence + ", " + rest + "}}";
    };
    const std::string one = R"("ids": [1], "after": [-1], "predicted": [0.5], "chance": [0.5], "shown": -1, "end": 0)";
    EXPECT_EQ(document_from_json(with_writing("1", one), "d").writing.sequence, 1);
    try {
        document_from_json(with_writing("2", one), "d");
        ADD_FAILURE() << "accepted";
    } catch (const FileError& error) {
        EXPECT_NE(std::string(error.what()).find("/writing: continues text 3, but there are only 2"), std::string::npos) << error.what();
    }
}

/// A sequence number without generated tokens is not saved.
TEST(DocumentJson, KeepsNoPlaceOfNothing) {
    const std::string start = R"({"format": "attnscope-document/1", "texts": ["a", "b"], )";
    const Document written = document_from_json(start + R"("written": {"sequence": 1, "ids": []}})", "d");
    EXPECT_EQ(document_from_json(document_to_json(written), "d"), written);
    const Document writing =
        document_from_json(start + R"("writing": {"sequence": 1, "ids": [], "after": [], "predicted": [], "chance": []}})", "d");
    EXPECT_EQ(document_from_json(document_to_json(writing), "d"), writing);
}

TEST(DocumentJson, RefusesOtherFormatsAndUnknownFields) {
    const auto message = [](const std::string& json) {
        try {
            document_from_json(json, "d.json");
        } catch (const FileError& error) {
            return std::string(error.what());
        }
        ADD_FAILURE() << "accepted " << json;
        return std::string();
    };
    EXPECT_NE(message(R"({"texts": ["a"]})").find("format"), std::string::npos);
    EXPECT_NE(message(R"({"format": "attnscope-document/2", "texts": ["a"]})").find("attnscope-document/1"), std::string::npos);
    EXPECT_NE(message(R"({"format": "attnscope-document/1", "texts": ["a"], "x": 1})").find("d.json"), std::string::npos);
    message(R"({"format": "attnscope-document/1"})");
    EXPECT_NE(message(R"({"format": "attnscope-document/1", "texts": ["a"], "pinned": {"c": {"texts": ["a"]}}})").find("/pinned"),
              std::string::npos);
    EXPECT_NE(message(R"({"format": "attnscope-document/1", "texts": ["a"], "pinned": {"a": {}}})").find("/pinned/a"), std::string::npos);
    message(R"({"format": "attnscope-document/1", "texts": []})");
    message(R"({"format": "attnscope-document/1", "texts": [1]})");
}

TEST(DocumentJson, RefusesATextThatEndsEarly) {
    const std::string whole = document_to_json(rich_document());
    for (std::size_t size = 0; size + 2 < whole.size(); size += 7)
        EXPECT_THROW(document_from_json(whole.substr(0, size), "d"), FileError) << size;
}

TEST(DocumentJson, SavesAndLoads) {
    const test::TemporaryFolder folder;
    const auto path = folder.path() / "mine.attnscope.json";
    save_document(path, rich_document());
    EXPECT_EQ(load_document(path), rich_document());
    Document other = rich_document();
    other.texts = {"again"};
    save_document(path, other);
    EXPECT_EQ(load_document(path), other);
    EXPECT_THROW(load_document(folder.path() / "missing.json"), FileError);
    EXPECT_THROW(load_document(folder.path()), FileError);
    EXPECT_THROW(save_document(folder.path() / "no" / "folder.json", other), FileError);
}

TEST(DocumentJson, WritesTextThatIsNotUtf8) {
    Document document;
    document.texts = {"a\xFF"
                      "b"};
    EXPECT_EQ(document_from_json(document_to_json(document), "d").texts.at(0), "a\xEF\xBF\xBD"
                                                                               "b");
}

}  // namespace
}  // namespace attn::app
