/// A published model in a session: its own tokenizer is used, its numbers are those of its files, and a document can refer to it.

#include "app/session/states/opened_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <tuple>

#include "app/session/document/document_error.hpp"
#include "app/session/document/document_json.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/readable_file.hpp"
#include "app/session/session.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/session/values/map_tensors.hpp"
#include "app/session/values/near_tokens.hpp"
#include "app/session/values/next_words.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/session/values/statistics.hpp"
#include "app/session/values/verification.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/text_file.hpp"
#include "engine/model/transformer.hpp"
#include "engine/reference/verification.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kGpt2 = fs::path(ATTN_TEST_DATA) / "golden/hf/gpt2";
constexpr double kRoom = std::numeric_limits<double>::infinity();

TEST(OpenedModel, CutsTextsWithItsOwnTokenizer) {
    const auto model = OpenedModel::open(kGpt2);
    Document document = document_of_model(model);
    document.texts = {"the cat  sat"};
    const Prepared prepared = prepare(document, kRoom);
    EXPECT_EQ(prepared.config, model->config());
    std::string joined;
    std::vector<std::int32_t> ids;
    for (const Token& token : prepared.chips.at(0)) {
        joined += token.text;
        ids.push_back(token.id);
        EXPECT_EQ(prepared.vocabulary.at(static_cast<std::size_t>(token.id)), token.text);
    }
    EXPECT_EQ(joined, "the cat  sat") << "pieces as they are, spaces too";
    EXPECT_EQ(ids, prepared.tokens.ids);
}

/// Combines a golden model folder with a golden tokenizer.
void put_together(const fs::path& folder, const std::string& model, const std::string& tokenizer) {
    const fs::path golden = fs::path(ATTN_TEST_DATA) / "golden/hf";
    for (const char* file : {"config.json", "model.safetensors"}) fs::copy_file(golden / model / file, folder / file);
    fs::copy_file(golden / "tokenizers" / tokenizer / "tokenizer.json", folder / "tokenizer.json");
}

std::vector<std::int32_t> ids_of(const OpenedModel& model, const std::string& text, bool special) {
    std::vector<std::int32_t> ids;
    for (const EncodedToken& token : model.text().encode(text, special)) ids.push_back(token.id);
    return ids;
}

TEST(OpenedModel, OfTwoStacksReadsOneTextAndWritesTheOther) {
    for (const auto& [name, tokenizer, start] : {std::tuple{"t5", "t5", 0}, {"t5_v1_1", "t5", 0}, {"bart", "roberta", 2}}) {
        SCOPED_TRACE(name);
        const test::TemporaryFolder folder;
        put_together(folder.path(), name, tokenizer);
        const auto model = OpenedModel::open(folder.path());
        Document document = document_of_model(model);
        EXPECT_TRUE(document.forward.masks.causal) << "its decoder";
        // T5 was trained to translate, BART to restore a text.
        EXPECT_EQ(document.source_texts != document.texts, std::string_view(tokenizer) == "t5");
        EXPECT_EQ(document.source_texts.at(0).find("translate English to German: ") == 0, std::string_view(tokenizer) == "t5");
        document.source_texts = {"the cat sat on the mat"};
        document.texts = {"on the mat"};
        const Prepared prepared = prepare(document, kRoom);
        EXPECT_EQ(prepared.source.ids, ids_of(*model, "the cat sat on the mat", true));
        std::vector<std::int32_t> written = ids_of(*model, "on the mat", false);
        written.insert(written.begin(), start);
        EXPECT_EQ(prepared.tokens.ids, written);
        Session session(document, [] {});
        const auto snapshot = session.wait();
        ASSERT_NE(snapshot, nullptr);
        const ForwardSettings& settings = snapshot->trace->settings;
        const Trace<float> expected = trace_forward<float>(model->parameters(), prepared.tokens, prepared.source, settings);
        const StageId weights{Stage::Weights, 0, Stack::Decoder, kCrossAttention};
        const auto a = snapshot->trace->find(weights)->value.values(), b = expected.find(weights)->value.values();
        EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
        document.source_texts.push_back("one more");
        EXPECT_THROW(prepare(document, kRoom), DocumentError);
    }
}

TEST(OpenedModel, ThatFillsInWordsOpensWithAHiddenOne) {
    const fs::path golden = fs::path(ATTN_TEST_DATA) / "golden/hf";
    for (const auto& [name, tokenizer, hidden] : {std::tuple{"bert", "bert_cased", "[MASK]."},
                                                  {"roberta", "roberta", "<mask>."},
                                                  {"gpt2", "gpt2", ""},
                                                  {"bert_hub", "bert_cased", ""}}) {
        const test::TemporaryFolder folder;
        put_together(folder.path(), name, tokenizer);
        const auto model = OpenedModel::open(folder.path());
        const std::string text = document_of_model(model).texts.at(0);
        const bool fills_in = model->config().lm_head && *hidden != '\0';
        EXPECT_EQ(text.find(fills_in ? hidden : "[MASK]") != std::string::npos, fills_in) << name << ": " << text;
    }
}

TEST(OpenedModel, ThatIsAnEncoderSeesAllOfTheText) {
    const test::TemporaryFolder folder;
    put_together(folder.path(), "bert", "bert_uncased");
    const auto model = OpenedModel::open(folder.path());
    const Document document = document_of_model(model);
    EXPECT_FALSE(document.forward.masks.causal);
    EXPECT_EQ(prepare(document, kRoom).tokens.ids, ids_of(*model, document.texts.at(0), true)) << "with what its template adds";
}

/// Text after the first separator belongs to the second text, as in the tokenizer's own pairs.
TEST(OpenedModel, ATextWithASeparatorIsAPair) {
    const test::TemporaryFolder folder;
    put_together(folder.path(), "bert", "bert_uncased");
    const auto model = OpenedModel::open(folder.path());
    Document document = document_of_model(model);
    EXPECT_TRUE(prepare(document, kRoom).tokens.segments.empty()) << "one text";
    document.texts = {"the cat[SEP]on the mat", "a longer text that is alone in it"};
    const Prepared prepared = prepare(document, kRoom);
    std::vector<std::int32_t> types;
    for (const EncodedToken& token : model->text().pieces()->encode_pair("the cat", "on the mat")) types.push_back(token.type);
    ASSERT_EQ(prepared.tokens.segments.size(), prepared.tokens.ids.size());
    ASSERT_EQ(prepared.tokens.lengths[0], static_cast<std::int64_t>(types.size()));
    for (std::size_t i = 0; i < prepared.tokens.segments.size(); ++i)
        EXPECT_EQ(prepared.tokens.segments[i], i < types.size() ? types[i] : 0);
    for (const bool causal : {false, true}) {
        document.texts = {"the cat[SEP]on the mat"};
        document.forward.masks.causal = causal;
        Session session(document, [] {});
        const auto snapshot = session.wait();
        ASSERT_NE(snapshot->trace, nullptr) << snapshot->problem;
        const Trace<float> expected =
            trace_forward<float>(model->parameters(), prepare(document, kRoom).tokens, {}, snapshot->trace->settings);
        TokenBatch alone = expected.tokens;
        alone.segments.clear();
        const Trace<float> without = trace_forward<float>(model->parameters(), alone, {}, snapshot->trace->settings);
        const auto weights = [](const Trace<float>& trace) {
            const auto values = trace.find({Stage::Weights, 1})->value.values();
            return std::vector<float>(values.begin(), values.end());
        };
        EXPECT_EQ(weights(*snapshot->trace), weights(expected));
        EXPECT_NE(weights(*snapshot->trace), weights(without)) << "the segments count";
        EXPECT_TRUE(session.get(facet::Verification{})->ok) << "the second implementation agrees";
    }
}

TEST(OpenedModel, RefusesATextBeyondItsContext) {
    Document document = document_of_model(OpenedModel::open(kGpt2));
    document.texts = {std::string(400, '!')};
    try {
        prepare(document, kRoom);
        FAIL() << "accepted";
    } catch (const DocumentError& error) {
        EXPECT_THAT(error.what(), HasSubstr("the context length is 64: shorten the text"));
    }
}

/// Rotary positions and T5's buckets exist for any distance.
TEST(OpenedModel, ShowsATextBeyondItsContextWherePositionsHaveNoTable) {
    for (const auto& [name, tokenizer] : {std::pair{"mistral", "mistral"}, {"t5_v1_1", "t5"}}) {
        SCOPED_TRACE(name);
        const test::TemporaryFolder folder;
        put_together(folder.path(), name, tokenizer);
        Document document = document_of_model(OpenedModel::open(folder.path()));
        document.texts = {"an x "};
        while (prepare(document, kRoom).tokens.length <= document.config.context_length) document.texts[0] += "an x ";
        Session session(document, [] {});
        const auto snapshot = session.wait();
        EXPECT_EQ(snapshot->problem, "");
        EXPECT_GT(snapshot->trace->tokens.length, document.config.context_length);
        EXPECT_TRUE(session.get(facet::Verification{})->ok) << "the second implementation agrees";
    }
}

TEST(OpenedModel, IsShownWithTheNumbersOfItsFile) {
    Session session(document_of_model(OpenedModel::open(kGpt2)), [] {});
    const auto snapshot = session.wait();
    ASSERT_NE(snapshot->trace, nullptr) << snapshot->problem;
    const auto parameters = load_parameters<float>(open_model_folder(kGpt2));
    for (const ParameterInfo& info : parameters->layout().entries())
        EXPECT_EQ(snapshot->trace->parameters->copy(info), parameters->copy(info)) << info.name;
}

const fs::path kGguf = fs::path(ATTN_TEST_DATA) / "golden/gguf/llama_biased.gguf";

TEST(OpenedModel, MayBeAGgufFile) {
    ASSERT_TRUE(OpenedModel::is_in(kGguf));
    const auto model = OpenedModel::open(kGguf);
    EXPECT_EQ(model->name(), "llama_biased.gguf");
    EXPECT_EQ(model->family(), "Llama");
    const std::string text = "The cat  sat on the mat.";
    EXPECT_EQ(ids_of(*model, text, false), ids_of(*OpenedModel::open(kGpt2), text, false)) << "the tokenizer that it was converted with";
    Document document = document_of_model(model);
    document.texts = {text};
    Session session(document, [] {});
    const auto snapshot = session.wait();
    ASSERT_NE(snapshot->trace, nullptr) << snapshot->problem;
    const auto parameters = load_parameters<float>(open_model_folder(kGguf));
    for (const ParameterInfo& info : parameters->layout().entries())
        EXPECT_EQ(snapshot->trace->parameters->copy(info), parameters->copy(info)) << info.name;
    const test::TemporaryFolder folder;
    save_document(folder.path() / "mine.json", document);
    EXPECT_EQ(load_document(folder.path() / "mine.json").model->path(), kGguf.lexically_normal());
}

/// Pinned in one file, shown in another: states of two sources side by side.
TEST(OpenedModel, CanBeComparedWithAnotherOne) {
    const test::TemporaryFolder folder;
    // The same model with one byte of its weights changed.
    std::string bytes = read_whole_file(kGguf, {});
    bytes[bytes.size() - 1000] = static_cast<char>(bytes[bytes.size() - 1000] ^ 1);
    std::ofstream(folder.path() / "other.gguf", std::ios::binary) << bytes;
    Document document = document_of_model(OpenedModel::open(kGguf));
    document.texts = {"the cat sat on the cat"};
    Session session(document, [] {});
    ASSERT_NE(session.wait()->trace, nullptr);
    session.apply({command::Pin{false, session.states().shown}, ""});
    session.apply({command::OpenFile{folder.path() / "other.gguf"}, ""});
    session.wait_for_files();
    session.update();
    const auto shown = session.wait();
    ASSERT_NE(shown->trace, nullptr) << shown->problem;
    EXPECT_EQ(session.document().model->name(), "other.gguf");
    EXPECT_EQ(session.document().texts, document.texts) << "which both can read";
    ASSERT_NE(session.states().pinned_a, nullptr);
    EXPECT_EQ(session.states().pinned_a->setup->model, document.model);
    const auto pinned = session.compute(session.states().pinned_a, facet::Trace{});
    ASSERT_TRUE(pinned) << pinned.problem;
    const StageId logits{Stage::Logits};
    const auto a = pinned.value->trace->find(logits)->value.values(), b = shown->trace->find(logits)->value.values();
    const auto prepared = prepare(document, kRoom);
    const Trace<float> expected = trace_forward<float>(document.model->parameters(), prepared.tokens, {}, pinned.value->trace->settings);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), expected.find(logits)->value.values().begin()));
    EXPECT_FALSE(std::equal(a.begin(), a.end(), b.begin())) << "the other file's numbers";
    session.apply({command::Undo{}, ""});
    EXPECT_EQ(session.document().model, document.model);
}

/// What would be written from then on comes from empty pages.
TEST(OpenedModel, ThatBecomesShorterEndsTheWriting) {
    const test::TemporaryFolder folder;
    put_together(folder.path(), "gpt2", "roberta");
    Session session(document_of_model(OpenedModel::open(folder.path())), [] {});
    ASSERT_EQ(session.wait()->problem, "");
    session.apply({command::WriteOn{0, 3}, ""});
    session.wait_for_writing();
    const std::size_t before = session.document().writing.tokens.size();
    EXPECT_GT(before, 0U);
    EXPECT_EQ(session.writing_problem(), "");
    fs::resize_file(folder.path() / "model.safetensors", 100);
    session.apply({command::WriteOn{0, 3}, ""});
    session.wait_for_writing();
    EXPECT_THAT(session.writing_problem(), HasSubstr("became shorter"));
    EXPECT_EQ(session.document().writing.tokens.size(), before);
}

/// Whatever is computed from then on comes from empty pages, also what is computed from numbers that are still right.
TEST(OpenedModel, ThatBecomesShorterGivesNoFurtherNumbers) {
    const test::TemporaryFolder folder;
    put_together(folder.path(), "gpt2", "roberta");
    Session session(document_of_model(OpenedModel::open(folder.path())), [] {});
    ASSERT_EQ(session.wait()->problem, "");
    const StateRef shown = session.states().shown;
    const StageId weights{Stage::Weights, 0};
    const auto problems = [&] {
        return std::vector<std::string>{session.compute(shown, facet::Lens{}).problem,
                                        session.compute(shown, facet::KnockOut{}).problem,
                                        session.compute(shown, facet::Gradients{}).problem,
                                        session.compute(shown, facet::Verification{}).problem,
                                        session.compute(shown, facet::NearTokens{Stack::Main, 3}).problem,
                                        session.compute(shown, facet::ValueNorms::of(weights)).problem,
                                        session.compute(shown, facet::Statistics{.parameter = "token_embedding.weight"}).problem,
                                        session.compute(shown, facet::NextWords{}).problem};
    };
    fs::resize_file(folder.path() / "model.safetensors", 20000);
    for (const std::string& problem : problems()) EXPECT_THAT(problem, HasSubstr("became shorter"));
    EXPECT_NE(session.snapshot()->trace, nullptr) << "what was computed before stays";
}

TEST(OpenedModel, ItsFileIsNotCountedAsMemory) {
    const Document document = document_of_model(OpenedModel::open(kGguf));
    const TraceSize size = prepare(document).size;
    EXPECT_EQ(size.parameters, 0);
    ASSERT_GT(size.weights, 0);
    const double least = std::min(size.whole, size.outline + size.part);
    Session enough(
        document, [] {}, least + 0.01);
    ASSERT_NE(enough.wait()->trace, nullptr) << enough.wait()->problem;
    Session little(
        document, [] {}, least / 2);
    EXPECT_EQ(little.wait()->trace, nullptr);
    EXPECT_EQ(little.wait()->problem.find("make the model smaller"), std::string::npos) << little.wait()->problem;
}

/// A model of which only the weights are known is spoken to in ids.
TEST(OpenedModel, WithoutATokenizerReadsIds) {
    const auto logits_in = [](const Trace<float>& trace) {
        const bool two = trace.config.architecture == Architecture::EncoderDecoder;
        const auto* found = trace.find({Stage::Logits, -1, two ? Stack::Decoder : Stack::Main});
        if (found == nullptr) return std::vector<float>();
        const auto values = found->value.values();
        return std::vector<float>(values.begin(), values.end());
    };
    const auto logits = [&](const Document& document) {
        Session session(document, [] {});
        const auto shown = session.wait();
        EXPECT_EQ(shown->problem, "");
        return shown->trace == nullptr ? std::vector<float>() : logits_in(*shown->trace);
    };
    for (const char* path : {"golden/gguf/llama.gguf", "golden/hf/llama", "golden/hf/t5", "golden/hf/bert"}) {
        SCOPED_TRACE(path);
        const auto model = OpenedModel::open(fs::path(ATTN_TEST_DATA) / path);
        ASSERT_TRUE(model->text().conventions().ids);
        Document document = document_of_model(model);
        EXPECT_FALSE(logits(document).empty()) << "the text it opens with";
        EXPECT_THAT(model->text().conventions().notes, testing::ElementsAre(HasSubstr("its texts are ids of tokens")));
        document.texts = {"5 3 9 14"};
        if (model->config().architecture == Architecture::EncoderDecoder) document.source_texts = {"7, 2"};
        const Prepared prepared = prepare(document);
        const std::vector<std::int32_t> ids = prepared.tokens.ids, expected = {5, 3, 9, 14};
        EXPECT_THAT(std::vector<std::int32_t>(ids.end() - 4, ids.end()), testing::ElementsAreArray(expected));
        EXPECT_EQ(prepared.chips.front().back().text, "14");
        // The engine given the same ids is the oracle.
        const TokenBatch batch = prepared.tokens;
        EXPECT_EQ(logits(document), logits_in(trace_forward<float>(model->parameters(), batch, prepared.source, document.forward)));
        for (const char* wrong : {"the cat", "5 x", "-1", "1000000", "1.5", "\xff"}) {
            document.texts = {wrong};
            EXPECT_THROW(prepare(document), DocumentError) << wrong;
        }
        for (const char* nothing : {"", " , "}) {
            document.texts = {nothing};
            if (model->config().architecture == Architecture::EncoderDecoder) continue;  // it has its start token
            EXPECT_THROW(prepare(document), DocumentError);
        }
    }
}

TEST(OpenedModel, AFolderIsNoGgufFile) {
    const test::TemporaryFolder folder;
    fs::create_directory(folder.path() / "folder.gguf");
    EXPECT_FALSE(OpenedModel::is_in(folder.path() / "folder.gguf"));
}

TEST(OpenedModel, IsFoundAgainByADocument) {
    const test::TemporaryFolder folder;
    Document document = document_of_model(OpenedModel::open(kGpt2));
    document.texts = {"a text of my own"};
    save_document(folder.path() / "mine.json", document);
    const Document again = load_document(folder.path() / "mine.json");
    ASSERT_NE(again.model, nullptr);
    EXPECT_EQ(again.model->path(), document.model->path());
    EXPECT_EQ(again.texts, document.texts);
    EXPECT_EQ(again.config, document.config);
}

TEST(OpenedModel, ThatIsGoneIsNamedWithTheDocumentThatNeedsIt) {
    const test::TemporaryFolder folder;
    fs::copy(kGpt2, folder.path() / "model");
    Document document = document_of_model(OpenedModel::open(folder.path() / "model"));
    Document pinned = open_preset("gpt-tiny");
    pinned.pins.a = State{std::make_shared<const app::Setup>(document), Drawn{}};
    save_document(folder.path() / "shows.json", document);
    save_document(folder.path() / "pins.json", pinned);
    fs::rename(folder.path() / "model", folder.path() / "moved");
    const auto refusal = [&](const char* name) -> std::string {
        try {
            load_document(folder.path() / name);
        } catch (const FileError& error) {
            return error.what();
        }
        return "";
    };
    for (const char* name : {"shows.json", "pins.json"}) {
        EXPECT_THAT(refusal(name), HasSubstr(name));
        EXPECT_THAT(refusal(name), HasSubstr((folder.path() / "model").string()));
        EXPECT_THAT(refusal(name), HasSubstr("put it back, or write its new path here"));
    }
    EXPECT_THAT(refusal("pins.json"), HasSubstr("/pinned/a/model"));
}

/// A document below whose folder its model is, as users keep them.
fs::path document_with_model(const fs::path& folder) {
    fs::create_directories(folder / "models");
    fs::copy(kGpt2, folder / "models/tiny");
    save_document(folder / "shows.json", document_of_model(OpenedModel::open(folder / "models/tiny")));
    return folder / "shows.json";
}

std::string refusal_of(const fs::path& document, const ModelPlaces& places = {}) {
    try {
        load_document(document, nullptr, places);
    } catch (const ModelIsMissing& error) {
        return error.what();
    }
    return "";
}

TEST(OpenedModel, IsFoundBesideTheDocumentThatMovedWithIt) {
    const test::TemporaryFolder folder;
    document_with_model(folder.path() / "here");
    fs::rename(folder.path() / "here", folder.path() / "there");
    EXPECT_EQ(load_document(folder.path() / "there/shows.json").model->path(), folder.path() / "there/models/tiny");
    fs::rename(folder.path() / "there/models/tiny", folder.path() / "there/tiny");
    EXPECT_EQ(load_document(folder.path() / "there/shows.json").model->path(), folder.path() / "there/tiny");
}

TEST(OpenedModel, ThatIsFoundElsewhereIsNamedInTheNotice) {
    const test::TemporaryFolder folder;
    const fs::path document = document_with_model(folder.path());
    const auto notice = [&] {
        Session session(open_preset("multi-head"), [] {});
        session.apply({command::OpenFile{document}, ""});
        session.wait_for_files();
        EXPECT_FALSE(session.files().failed);
        return session.files().notice;
    };
    EXPECT_THAT(notice(), Not(HasSubstr("instead")));
    fs::rename(folder.path() / "models/tiny", folder.path() / "tiny");
    EXPECT_THAT(notice(), HasSubstr("The model at " + (folder.path() / "models/tiny").string() + " cannot be opened, so the one at " +
                                    (folder.path() / "tiny").string() + " is used instead."));
}

TEST(OpenedModel, IsFoundByItsNameAmongTheModelsOfAnotherUser) {
    const test::TemporaryFolder folder;
    const fs::path document = document_with_model(folder.path());
    for (const char* name : {"elsewhere/tiny", "elsewhere/models/tiny", "elsewhere/models--models--tiny/snapshots/c0ffee"}) {
        const fs::path place = folder.path() / name;
        fs::create_directories(place.parent_path());
        fs::rename(folder.path() / "models/tiny", place);
        EXPECT_NE(refusal_of(document), "") << name;
        ModelPlaces places;
        places.shelves = {folder.path() / "elsewhere"};
        EXPECT_EQ(load_document(document, nullptr, places).model->path(), place);
        fs::rename(place, folder.path() / "models/tiny");
    }
}

TEST(OpenedModel, IsFoundByItsNameWhenItsPathEndsWithASlash) {
    const test::TemporaryFolder folder;
    ModelPlaces places;
    places.shelves = {folder.path() / "elsewhere"};
    fs::create_directories(folder.path() / "elsewhere");
    for (const char* name : {"models--org--tiny", "tiny"}) {
        ModelReference reference;
        reference.path = folder.path() / "gone" / name / "";
        EXPECT_EQ(find_model(reference, places).model, nullptr);
        fs::copy(kGpt2, places.shelves[0] / name);
        const FoundModel found = find_model(reference, places);
        ASSERT_NE(found.model, nullptr) << name;
        EXPECT_EQ(found.model->path(), places.shelves[0] / name);
    }
}

TEST(OpenedModel, WithoutANameIsNotTheFolderThatIsSearched) {
    const test::TemporaryFolder folder;
    fs::copy(kGpt2, folder.path() / "models");
    ModelPlaces places;
    for (const char* shelf : {"models", "models/"}) {
        places.shelves = {folder.path() / shelf};
        for (const char* path : {"/", ".", "./", "..", "models--"}) {
            ModelReference reference;
            reference.path = path;
            EXPECT_EQ(find_model(reference, places).model, nullptr) << shelf << ", " << path;
        }
    }
}

/// Only what is called the same is elsewhere: with other sizes, or with the same sizes and other tensors.
TEST(OpenedModel, OfTheSameNameIsNotTakenForTheOneThatIsMissing) {
    const test::TemporaryFolder folder;
    const fs::path document = document_with_model(folder.path());
    fs::rename(folder.path() / "models/tiny", folder.path() / "away");
    const std::string nowhere = refusal_of(document);
    EXPECT_THAT(nowhere,
                AllOf(HasSubstr((folder.path() / "models/tiny").string()), HasSubstr("none like it in " + folder.path().string())));
    fs::create_directories(folder.path() / "tiny");
    put_together(folder.path() / "tiny", "bert", "bert_uncased");
    EXPECT_THAT(refusal_of(document), AllOf(HasSubstr((folder.path() / "tiny").string()), HasSubstr("its sizes differ")));
    fs::remove_all(folder.path() / "tiny");
    fs::copy(folder.path() / "away", folder.path() / "tiny");
    std::string json = read_text_file(document).text;
    const std::size_t mark = json.find("model_tensors\": \"") + std::string_view("model_tensors\": \"").size();
    json[mark] = json[mark] == '0' ? '1' : '0';
    std::ofstream(document) << json;
    EXPECT_THAT(refusal_of(document), HasSubstr("the names of its tensors differ"));
}

TEST(OpenedModel, ThatWasReplacedByAnotherIsNotTakenForIt) {
    const test::TemporaryFolder folder;
    const fs::path document = document_with_model(folder.path());
    EXPECT_EQ(refusal_of(document), "");
    fs::remove_all(folder.path() / "models/tiny");
    fs::create_directories(folder.path() / "models/tiny");
    put_together(folder.path() / "models/tiny", "bert", "bert_uncased");
    EXPECT_THAT(refusal_of(document), HasSubstr("another model is there now: its sizes differ"));
}

TEST(OpenedModel, ThatIsMissingIsAskedForAndThenTheDocumentOpens) {
    const test::TemporaryFolder folder;
    const fs::path document = document_with_model(folder.path());
    fs::rename(folder.path() / "models/tiny", folder.path() / "renamed");
    Session session(open_preset("multi-head"), [] {});
    const auto open = [&](const fs::path& model) {
        session.apply({command::OpenFile{document, model, folder.path() / "models/tiny"}, ""});
        session.wait_for_files();
    };
    open("");
    ASSERT_TRUE(session.files().missing_model);
    EXPECT_EQ(session.files().missing_model->document, document);
    EXPECT_EQ(session.files().missing_model->model, folder.path() / "models/tiny");
    EXPECT_THAT(session.files().missing_model->problem, Not(HasSubstr("put it back"))) << "that is about the JSON";
    EXPECT_EQ(session.document().model, nullptr);
    fs::create_directories(folder.path() / "other");
    put_together(folder.path() / "other", "bert", "bert_uncased");
    open(folder.path() / "other");
    EXPECT_EQ(session.files().missing_models, 2U) << "another model is not taken";
    EXPECT_THAT(session.files().missing_model->problem, HasSubstr("other is another model"));
    EXPECT_EQ(session.document().model, nullptr);
    open(folder.path() / "renamed");
    EXPECT_FALSE(session.files().missing_model);
    ASSERT_NE(session.document().model, nullptr) << session.files().notice;
    EXPECT_EQ(session.document().model->path(), folder.path() / "renamed");
    EXPECT_EQ(session.files().document, document);
}

TEST(OpenedModel, ThatIsChosenDoesNotStandForAnotherOneThatIsMissing) {
    const test::TemporaryFolder folder;
    for (const char* name : {"shown", "pinned"}) fs::copy(kGpt2, folder.path() / name);
    Document document = document_of_model(OpenedModel::open(folder.path() / "shown"));
    document.pins.a = State{std::make_shared<const app::Setup>(document), Drawn{}};
    document.pins.b = State{std::make_shared<const app::Setup>(document_of_model(OpenedModel::open(folder.path() / "pinned"))), Drawn{}};
    save_document(folder.path() / "both.json", document);
    fs::create_directories(folder.path() / "away");
    for (const char* name : {"shown", "pinned"}) fs::rename(folder.path() / name, folder.path() / "away" / name);
    ModelPlaces places;
    places.chosen = folder.path() / "away/shown";
    places.chosen_for = folder.path() / "shown";
    std::vector<std::string> left_out;
    const Document again = load_document(folder.path() / "both.json", &left_out, places);
    EXPECT_EQ(again.model->path(), places.chosen);
    ASSERT_TRUE(again.pins.a);
    EXPECT_EQ(again.pins.a->setup->model->path(), places.chosen) << "it was chosen for this one, too";
    EXPECT_FALSE(again.pins.b);
    ASSERT_EQ(left_out.size(), 1U);
    EXPECT_THAT(left_out[0], AllOf(HasSubstr("Pinned B is left out"), HasSubstr((folder.path() / "pinned").string())));
}

/// Only states pinned of that model are lost; without one, the document opens as if nothing were missing.
TEST(OpenedModel, ThatIsGoneTakesOnlyWhatWasPinnedOfItAlong) {
    const test::TemporaryFolder folder;
    fs::copy(kGpt2, folder.path() / "model");
    Document document = open_preset("causal-attention");
    document.texts = {"the cat sat"};
    document.forward.temperature = 2;
    document.pins.b = State{std::make_shared<const app::Setup>(document), Drawn{}};
    document.look.emplace().head = 1;
    Document both = document;
    both.pins.a = State{std::make_shared<const app::Setup>(document_of_model(OpenedModel::open(folder.path() / "model"))), Drawn{}};
    const fs::path file = folder.path() / "pins.json";
    save_document(file, both);
    std::vector<std::string> left_out;
    EXPECT_TRUE(load_document(file, &left_out).pins.a);
    EXPECT_THAT(left_out, testing::IsEmpty());
    fs::rename(folder.path() / "model", folder.path() / "moved");
    EXPECT_EQ(load_document(file, &left_out), document);
    ASSERT_EQ(left_out.size(), 1U);
    EXPECT_THAT(left_out[0], testing::StartsWith("Pinned A is left out, because its model cannot be opened: "));
    EXPECT_THAT(left_out[0], HasSubstr((folder.path() / "model").string()));

    Session session(open_preset("multi-head"), [] {});
    session.apply({command::OpenFile{file}, ""});
    session.wait_for_files();
    session.update();
    EXPECT_EQ(session.document(), document);
    EXPECT_TRUE(session.files().failed);
    EXPECT_THAT(session.files().notice, AllOf(HasSubstr("Opened "), HasSubstr(left_out[0])));
    EXPECT_EQ(session.files().document, file);
    EXPECT_FALSE(session.files().unsaved);
}

TEST(OpenedModel, FolderIsKnownForWhatItIs) {
    const ReadableFile file = read_any_file(kGpt2);
    EXPECT_EQ(file.kind, FileKind::Model);
    ASSERT_TRUE(file.document);
    EXPECT_EQ(file.document->model->name(), "gpt2");
    const test::TemporaryFolder empty;
    EXPECT_THROW(read_any_file(empty.path()), FileError);
}

TEST(OpenedModel, KeepsItsConfiguration) {
    Session session(document_of_model(OpenedModel::open(kGpt2)), [] {});
    session.wait();
    Config other = session.document().config;
    other.num_heads = 2;
    session.apply({command::SetConfig{other}, ""});
    EXPECT_THAT(session.message(), HasSubstr("choose an example"));
    EXPECT_NE(session.document().model, nullptr);
    session.apply({command::OpenPreset{"self-attention"}, ""});
    EXPECT_EQ(session.document().model, nullptr);
}

TEST(OpenedModel, IsGivenTheTextThatTheUserHasTyped) {
    const Document of_model = document_of_model(OpenedModel::open(kGpt2));
    const auto opened_after = [&](const std::vector<std::string>& texts) {
        Document typed = open_preset("stories");
        typed.texts = texts;
        Session session(typed, [] {});
        session.wait();
        session.apply({command::OpenDocument{of_model, true, ""}, ""});
        const std::vector<std::string> shown = session.document().texts;
        session.apply({command::Undo{}, ""});
        EXPECT_EQ(session.document(), typed) << "everything is back";
        return shown;
    };
    EXPECT_EQ(opened_after({"Lily and Tom"}), std::vector<std::string>{"Lily and Tom"});
    EXPECT_EQ(opened_after(open_preset("stories", 1).texts), of_model.texts) << "an example's sentence";
    const std::string sentence = open_preset("stories", 1).texts[0];
    EXPECT_EQ(opened_after({sentence, sentence}), of_model.texts) << "a copy of it";
    std::string longer = "Lily";
    for (int i = 0; i < 200; ++i) longer += " and Tom";
    EXPECT_EQ(opened_after({longer}), of_model.texts) << "more than the model can read";
}

/// The text that a model opens with is ours, as that of an example: an encoder's hidden word means nothing to the next model.
TEST(OpenedModel, KeepsATextTypedIntoAnotherModelButNotOneThatThatOpenedWith) {
    const Document gpt2 = document_of_model(OpenedModel::open(kGpt2));
    const test::TemporaryFolder folder;
    put_together(folder.path(), "bert", "bert_cased");
    const Document bert = document_of_model(OpenedModel::open(folder.path()));
    ASSERT_NE(gpt2.texts, bert.texts);
    const auto opened_after = [&](Document before, const Document& next) {
        Session session(std::move(before), [] {});
        session.wait();
        session.apply({command::OpenDocument{next, true, ""}, ""});
        return session.document().texts;
    };
    EXPECT_EQ(opened_after(bert, gpt2), gpt2.texts);
    EXPECT_EQ(opened_after(gpt2, bert), bert.texts);
    Document typed = gpt2;
    typed.texts = {"the cat"};
    EXPECT_EQ(opened_after(typed, bert), typed.texts);
}

TEST(OpenedModel, ThatCannotReadItsTextIsNotShownWithAnotherModelsNumbers) {
    Document too_long = document_of_model(OpenedModel::open(kGpt2));
    Session session(open_preset("addition"), [] {});
    const auto before = session.wait();
    session.apply({command::SetTexts{{"no such words as these"}, {}}, ""});
    EXPECT_EQ(session.wait()->trace, before->trace) << "the last text that the same model could read";
    for (int i = 0; i < 200; ++i) too_long.texts[0] += " and the cat";
    session.apply({command::OpenDocument{too_long, false, ""}, ""});
    const auto after = session.wait();
    EXPECT_EQ(after->trace, nullptr);
    EXPECT_EQ(session.states().shown, nullptr);
    EXPECT_THAT(after->problem, HasSubstr("shorten the text"));
    session.apply({command::OpenPreset{"masked"}, ""});
    EXPECT_NE(session.wait()->trace, nullptr);
    session.apply({command::Undo{}, ""});
    EXPECT_EQ(session.wait()->trace, nullptr);
    EXPECT_EQ(session.wait()->problem, after->problem);
}

}  // namespace
}  // namespace attn::app
