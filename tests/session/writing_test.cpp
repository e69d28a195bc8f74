/// Text generation in a session: every token is a moment, branches are kept, and the document stores them.

#include "app/session/document/writing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "app/session/document/document_json.hpp"
#include "app/session/document/model_document.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/session.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/values/next_words.hpp"
#include "app/session/values/sample.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/generate/generate.hpp"
#include "engine/model/transformer.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class WritingSession : public testing::Test {
protected:
    void open(const std::string& preset) { open(open_preset(preset)); }
    void open(Document document) {
        session.reset();
        session = std::make_unique<Session>(std::move(document), [] {});
        session->wait();
    }
    void apply(Command command) { session->apply(command); }
    void write(std::int64_t tokens) {
        apply({command::WriteOn{0, tokens}, ""});
        session->wait_for_writing();
        EXPECT_FALSE(session->is_writing());
    }
    void set(const SamplingSettings& sampling) { apply({command::SetSampling{sampling}, ""}); }
    /// By a single engine call from the prompt.
    std::vector<std::int32_t> expected(std::int64_t tokens) {
        Document plain = session->document();
        plain.written = {};
        plain.writing = {};
        Session other(plain, [] {});
        const auto snapshot = other.wait();
        SamplingSettings sampling = session->document().sampling;
        sampling.tokens = tokens;
        return generate(*snapshot->trace->parameters, {snapshot->trace->tokens.ids}, snapshot->trace->settings, sampling);
    }
    const Document& document() const { return session->document(); }
    std::vector<std::int32_t> shown_ids() { return session->wait()->trace->tokens.ids; }

    std::unique_ptr<Session> session;
};

/// Ids that were written are read again from the text.
TEST_F(WritingSession, OfAModelWithoutATokenizerIsAListOfIds) {
    open(document_of_model(OpenedModel::open(fs::path(ATTN_TEST_DATA) / "golden/hf/llama")));
    apply({command::SetTexts{{"5 3 9"}, {}}, ""});
    session->wait();
    write(4);
    const std::vector<std::int32_t> ids = shown_ids();
    ASSERT_EQ(ids.size(), 7U);
    const std::string text = whole_texts(document()).front();
    EXPECT_THAT(text, testing::StartsWith("5 3 9 " + std::to_string(ids[3]) + " "));
    apply({command::SetTexts{{text}, {}}, ""});
    EXPECT_EQ(shown_ids(), ids);
    const auto sample = session->get(facet::Sample{{.temperature = 0, .tokens = 3}});
    std::string apart;
    for (const Token& token : sample->tokens) apart += " " + std::to_string(token.id);
    EXPECT_EQ(sample->text, apart);
}

TEST_F(WritingSession, WritesWhatTheEngineWritesAndShowsIt) {
    open("stories");
    set({.temperature = 1.4, .top_k = 30, .min_p = 0.01, .seed = 5});
    const std::vector<std::int32_t> prompt = shown_ids(), wanted = expected(9);
    write(9);
    EXPECT_EQ(document().written.ids, wanted);
    EXPECT_EQ(ids_to(document().writing, document().writing.end), wanted);
    std::vector<std::int32_t> all = prompt;
    all.insert(all.end(), wanted.begin(), wanted.end());
    EXPECT_EQ(shown_ids(), all) << "the text up to the last token is the state that is shown";
    // A token's probabilities are those at the moment before it.
    for (const std::int64_t at : {kPrompt, std::int64_t{0}, std::int64_t{4}}) {
        apply({command::ShowWritten{at}, ""});
        session->wait();
        const auto words = session->get(facet::NextWords{0, document().sampling});
        const WrittenToken& next = document().writing.tokens[static_cast<std::size_t>(at + 1)];
        for (const NextWord& word : words->likeliest) {
            if (word.id != next.id) continue;
            EXPECT_NEAR(word.predicted, next.predicted, 1e-6);
            EXPECT_NEAR(word.chance, next.chance, 1e-6);
        }
        EXPECT_EQ(shown_ids().size(), prompt.size() + static_cast<std::size_t>(at + 1));
    }
    EXPECT_EQ(document().writing.tokens.size(), 9U) << "what comes later is kept";
}

TEST_F(WritingSession, StopsAndGoesOnAsIfAtOneGo) {
    open("stories");
    set({.temperature = 1.2, .seed = 8});
    const std::vector<std::int32_t> wanted = expected(12);
    write(5);
    write(7);
    EXPECT_EQ(document().written.ids, wanted);
    // From an earlier moment the same seed gives the same tokens, so no new branch.
    apply({command::ShowWritten{3}, ""});
    write(8);
    EXPECT_EQ(document().written.ids, wanted);
    EXPECT_EQ(branch_ends(document().writing).size(), 1U);
    apply({command::ShowWritten{3}, ""});
    set({.temperature = 1.2, .seed = 9});
    write(8);
    EXPECT_EQ(branch_ends(document().writing).size(), 2U) << "another seed is another branch";
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.begin() + 4, document().written.ids.begin()));
}

TEST_F(WritingSession, IsOneStepBackWhateverItsLength) {
    open("stories");
    const Document before = document();
    write(6);
    const Document after = document();
    EXPECT_NE(after, before);
    apply({command::Undo{}, ""});
    EXPECT_EQ(document(), before);
    apply({command::Redo{}, ""});
    EXPECT_EQ(document(), after);
    apply({command::WriteToken{0, 4, 0.1, 0}, ""});
    EXPECT_EQ(document().written.ids.back(), 4);
    EXPECT_EQ(document().writing.tokens.back(), (WrittenToken{4, 5, 0.1, 0}));
    apply({command::Undo{}, ""});
    EXPECT_EQ(document(), after);
}

TEST_F(WritingSession, BranchesAreComparedAndGivenUp) {
    open("stories");
    write(4);
    apply({command::ShowWritten{1}, ""});
    apply({command::WriteToken{0, 7, 0, 0}, ""});
    ASSERT_EQ(branch_ends(document().writing).size(), 2U);
    const auto snapshot = session->wait();
    const auto other = state_with_written(*snapshot->state, document().writing, 2);
    apply({command::Pin{false, other}, ""});
    session->wait();
    const StateRef pinned = session->states().pinned_a;
    ASSERT_NE(pinned, nullptr);
    const auto trace = session->compute(pinned, facet::Trace{});
    ASSERT_TRUE(trace) << trace.problem;
    const auto& mine = snapshot->trace->tokens.ids;
    const auto& others = trace->trace->tokens.ids;
    ASSERT_EQ(others.size(), mine.size()) << "of one length, so that differences mean something";
    EXPECT_NE(others.back(), mine.back());
    EXPECT_TRUE(std::equal(mine.begin(), mine.end() - 1, others.begin()));
    apply({command::ForgetWritten{2}, ""});
    EXPECT_EQ(branch_ends(document().writing).size(), 1U);
    EXPECT_EQ(document().written.ids.back(), 7);
    apply({command::ForgetWritten{99}, ""});
    EXPECT_THAT(session->message(), HasSubstr("99"));
}

TEST_F(WritingSession, AnEditedTextIsAnotherPrompt) {
    open("stories");
    write(3);
    const std::vector<std::string> whole = whole_texts(document());
    EXPECT_TRUE(whole[0].starts_with(document().texts[0] + " "));
    const Document before = document();
    apply({command::SetTexts{whole, {}}, ""});
    EXPECT_EQ(document(), before) << "nothing was changed";
    const std::vector<std::int32_t> ids = shown_ids();
    apply({command::SetTexts{{whole[0] + " ."}, {}}, ""});
    EXPECT_TRUE(document().writing.tokens.empty() && document().written.ids.empty());
    const std::vector<std::int32_t> now = shown_ids();
    ASSERT_EQ(now.size(), ids.size() + 1);
    EXPECT_TRUE(std::equal(ids.begin(), ids.end(), now.begin()));
    // With another tokenizer the text is kept, not the ids.
    apply({command::Undo{}, ""});
    EXPECT_EQ(document(), before);
    apply({command::SetTokenizer{TokenizerKind::Character}, ""});
    EXPECT_EQ(document().texts, whole);
    EXPECT_TRUE(document().writing.tokens.empty());
}

TEST_F(WritingSession, ACancelledEditKeepsAllBranches) {
    open("stories");
    write(3);
    apply({command::ShowWritten{0}, ""});
    apply({command::WriteToken{0, 7, 0.1, 0}, ""});
    ASSERT_EQ(branch_ends(document().writing).size(), 2U);
    const Document before = document();
    const std::string whole = whole_texts(before)[0];
    for (const char* typed : {"x", "xy", ""}) apply({command::SetTexts{{whole + typed}, {}}, "text 1"});
    EXPECT_EQ(document(), before);
    EXPECT_EQ(session->files().notice, "The generated text is back.");
    // The same text in an edit of its own does not bring it back.
    apply({command::SetTexts{{whole + "x"}, {}}, "text 2"});
    apply({command::SetTexts{{whole}, {}}, "text 3"});
    EXPECT_TRUE(document().writing.tokens.empty());
}

TEST_F(WritingSession, FollowsWhatIsChangedByHand) {
    open("stories");
    set({.temperature = 0});
    write(8);
    const std::vector<std::int32_t> plain = document().written.ids;
    apply({command::ShowWritten{kPrompt}, ""});
    ForwardSettings forward = document().forward;
    for (int layer = 0; layer < document().config.num_layers; ++layer)
        forward.edits.push_back({.kind = EditKind::Scale, .at = {Stage::Context, layer}, .value = 0});
    apply({command::SetForward{forward}, ""});
    ASSERT_EQ(document().writing.tokens.size(), plain.size()) << "the branches stay: the text is read as it was";
    write(8);
    EXPECT_EQ(document().written.ids, expected(8));
    EXPECT_NE(document().written.ids, plain);
    EXPECT_EQ(branch_ends(document().writing).size(), 2U);
}

TEST_F(WritingSession, EndsWithTheContext) {
    open("stories");
    const std::int64_t context = session->wait()->trace->config.context_length;
    write(3);
    EXPECT_EQ(session->writing_problem(), "");
    write(context + 50);
    EXPECT_EQ(static_cast<std::int64_t>(shown_ids().size()), context);
    EXPECT_THAT(session->writing_problem(), HasSubstr("context")) << "it says why there are fewer than were asked for";
    write(1);
    EXPECT_THAT(session->writing_problem(), HasSubstr("context"));
    EXPECT_EQ(static_cast<std::int64_t>(shown_ids().size()), context);
    apply({command::ShowWritten{2}, ""});
    EXPECT_EQ(session->writing_problem(), "") << "there is room again";
}

TEST_F(WritingSession, TakesNoTokenByHandBeyondTheContext) {
    open("stories");
    write(session->wait()->trace->config.context_length);
    const Document before = document();
    apply({command::WriteToken{0, 5, 0.1, 0}, ""});
    EXPECT_EQ(document(), before);
    EXPECT_THAT(session->message(), HasSubstr("context"));
    EXPECT_EQ(session->wait()->problem, "");
    // If the token already exists, it is shown.
    apply({command::ShowWritten{0}, ""});
    apply({command::WriteToken{0, before.writing.tokens[1].id, 0.1, 0}, ""});
    EXPECT_EQ(document().writing.shown, 1);
}

TEST_F(WritingSession, AnswersASourceUpToItsEnd) {
    open("translation");
    Document begun = document();
    begun.texts = {">"};
    open(begun);
    set({.temperature = 0, .tokens = 40});
    write(40);
    const auto snapshot = session->wait();
    EXPECT_EQ(document().written.ids.back(), snapshot->trace->source_tokens.ids.back()) << "it ends as the source does";
    Document right = open_preset("translation");
    const std::string answer = whole_texts(document())[0];
    EXPECT_TRUE(answer.starts_with(right.texts[0])) << answer << " / " << right.texts[0];
}

TEST_F(WritingSession, SavesAndLoadsItsBranches) {
    open("stories");
    set({.temperature = 1.1, .top_k = 12, .top_p = 0.9, .min_p = 0.02, .tokens = 11, .seed = 3});
    write(5);
    apply({command::ShowWritten{2}, ""});
    apply({command::WriteToken{0, 9, 0.01, 0}, ""});
    apply({command::ShowWritten{1}, ""});
    const std::string json = document_to_json(document());
    const Document again = document_from_json(json, "test");
    EXPECT_EQ(again.writing, document().writing);
    EXPECT_EQ(again.written, document().written);
    EXPECT_EQ(again.sampling, document().sampling);
    open(again);
    EXPECT_EQ(document().writing, again.writing) << "opening keeps them";
    const auto refused = [&](const std::string& from, const std::string& to) {
        std::string bad = json;
        const std::size_t at = bad.find(from);
        ASSERT_NE(at, std::string::npos) << from;
        bad.replace(at, from.size(), to);
        EXPECT_THROW(document_from_json(bad, "test"), Error) << to;
    };
    refused("\"shown\": 1", "\"shown\": 4");
    refused("\"shown\": 1", "\"shown\": 99");
    refused("\"end\": ", "\"end\": 7");
    refused("\"after\": [", "\"after\": [5,");
    refused("\"after\": [", "\"after\": [0.5,");
    refused("\"predicted\": [", "\"predicted\": [2,");
}

TEST_F(WritingSession, KeepsTheIdsThatWereDrawn) {
    open(document_of_model(OpenedModel::open(std::filesystem::path(ATTN_TEST_DATA) / "golden/hf/gpt2")));
    Document short_text = document();
    short_text.texts = {"the cat"};
    open(short_text);
    set({.temperature = 3, .seed = 21});
    const std::vector<std::int32_t> wanted = expected(8), prompt = shown_ids();
    write(8);
    EXPECT_EQ(document().written.ids, wanted);
    std::vector<std::int32_t> all = prompt;
    all.insert(all.end(), wanted.begin(), wanted.end());
    EXPECT_EQ(shown_ids(), all) << "whatever the tokenizer would make of their text";
    const auto snapshot = session->wait();
    EXPECT_EQ(snapshot->tokens[0].back().text, snapshot->vocabulary[static_cast<std::size_t>(all.back())]);
    Document absurd = document();
    absurd.written.ids.back() = 1 << 30;
    absurd.writing = {};
    Session other(absurd, [] {});
    EXPECT_THAT(other.wait()->problem, HasSubstr("1073741824"));
}

TEST_F(WritingSession, SaysWhyItCannotWrite) {
    open("self-attention");
    apply({command::WriteOn{}, ""});
    session->wait_for_writing();
    EXPECT_THAT(session->writing_problem(), HasSubstr("causal"));
    EXPECT_FALSE(session->is_writing());
    apply({command::SetSampling{{.min_p = 2}}, ""});
    EXPECT_THAT(session->message(), HasSubstr("min-p"));
}

/// A golden model whose texts end with one of these tokens.
class EndingModel {
public:
    EndingModel(const char* model, const std::string& ends) {
        const fs::path golden = fs::path(ATTN_TEST_DATA) / "golden/hf" / model;
        for (const char* file : {"config.json", "model.safetensors", "tokenizer.json"}) fs::copy_file(golden / file, folder_ / file);
        std::ofstream(folder_ / "generation_config.json") << "{\"eos_token_id\": " << ends << "}";
    }
    fs::path path() const { return folder_.path(); }

private:
    test::TemporaryFolder folder_;
};

TEST_F(WritingSession, AnOpenedModelStopsAtItsEndTokenAndGoesOnWhenToldTo) {
    const fs::path golden = fs::path(ATTN_TEST_DATA) / "golden/hf/gpt2";
    open(document_of_model(OpenedModel::open(golden)));
    set({.temperature = 1.5, .seed = 4});
    const std::vector<std::int32_t> all = expected(12);
    const std::int32_t end = all[4];
    const auto first = static_cast<std::size_t>(std::find(all.begin(), all.end(), end) - all.begin());
    const EndingModel ending("gpt2", std::to_string(end));
    open(document_of_model(OpenedModel::open(ending.path())));
    set({.temperature = 1.5, .seed = 4});
    write(12);
    EXPECT_EQ(session->writing_problem(), "") << "an end is no problem";
    EXPECT_EQ(document().written.ids, std::vector<std::int32_t>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first) + 1));
    EXPECT_TRUE(conventions_of(document()).is_end(document().written.ids.back()));
    // After the end token it continues as if there were none, up to the next one.
    std::size_t written = first + 1;
    while (written < all.size()) {
        write(static_cast<std::int64_t>(all.size() - written));
        ASSERT_GT(document().written.ids.size(), written);
        written = document().written.ids.size();
        EXPECT_TRUE(std::equal(document().written.ids.begin(), document().written.ids.end(), all.begin()));
    }
}

}  // namespace
}  // namespace attn::app
