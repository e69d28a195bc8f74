/// How one speaks to a model in text: our own tokenizers, published ones, and none.

#include "app/session/states/text_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "app/session/document/model_document.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/document/writing.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/session/states/opened_model.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"
#include "engine/tokenizer/own_bpe.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"
#include "tests/support/temporary_folder.hpp"

namespace attn::app {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int32_t>;

const fs::path kPublished = fs::path(ATTN_TEST_DATA) / "golden/hf";

Ids ids_of(const TextModel& model, const std::string& text, Reader reader = Reader::Model) {
    Ids ids;
    for (const TextToken& token : model.tokens_of(text, reader)) ids.push_back(token.id);
    return ids;
}

/// A published model with the tokenizer of another.
class WithTokenizer {
public:
    WithTokenizer(const char* model, const char* tokenizer) {
        fs::copy(kPublished / model, folder_.path());
        fs::copy_file(kPublished / "tokenizers" / tokenizer / "tokenizer.json", folder_.path() / "tokenizer.json");
        model_ = OpenedModel::open(folder_.path());
    }
    const std::shared_ptr<const OpenedModel>& model() const { return model_; }
    const TextModel& text() const { return model_->text(); }

private:
    test::TemporaryFolder folder_;
    std::shared_ptr<const OpenedModel> model_;
};

TEST(TextModel, OfIdsReadsAndWritesIds) {
    const TextModel ids(nullptr, 12);
    EXPECT_TRUE(ids.conventions().ids);
    EXPECT_EQ(ids.conventions().between, " ");
    EXPECT_EQ(ids.conventions().mask, "");
    EXPECT_EQ(ids_of(ids, " 5, 3\n11 "), (Ids{5, 3, 11}));
    EXPECT_EQ(ids.decode(Ids{5, 3, 11}), "5 3 11");
    EXPECT_EQ(ids.vocabulary().at(11), "11");
    EXPECT_EQ(ids.vocabulary().size(), 12U);
    EXPECT_EQ(ids.first_text(7), "7");
    for (const char* wrong : {"12", "-1", "the", "1.5"}) EXPECT_THROW(ids.tokens_of(wrong), ConfigError) << wrong;
}

TEST(TextModel, OfOurOwnTokenizersFollowsItsKind) {
    const std::vector<std::string> texts = {"the cat"};
    const TextModel words(Tokenizer(TokenizerKind::Word, texts)), bytes(Tokenizer(TokenizerKind::Byte, texts, false));
    EXPECT_EQ(words.conventions().between, " ");
    EXPECT_EQ(words.conventions().first_word, 2);
    EXPECT_EQ(words.conventions().token, "word");
    EXPECT_EQ(words.decode(Ids{2, 3}), "the cat");
    EXPECT_EQ(bytes.conventions().between, "");
    EXPECT_EQ(bytes.conventions().first_word, 0);
    EXPECT_EQ(bytes.decode(Ids{0, 1, 2}), "the");
    for (const TextModel* model : {&words, &bytes}) {
        EXPECT_FALSE(model->conventions().pieces);
        EXPECT_EQ(model->pieces(), nullptr);
        EXPECT_EQ(model->conventions().mask, "_");
        EXPECT_EQ(model->conventions().answer_begins, ">");
        EXPECT_EQ(model->conventions().ends_after(Ids{4, 9}), Ids{9}) << "an answer ends as its source does";
        EXPECT_EQ(model->conventions().ends_after({}), Ids());
        EXPECT_EQ(ids_of(*model, "the cat", Reader::Decoder), ids_of(*model, "the cat")) << "no start token";
    }
    std::vector<std::string> spelled;
    EXPECT_EQ(words.encode("cat the", true, &spelled).size(), 2U);
    EXPECT_EQ(spelled, (std::vector<std::string>{"cat", "the"}));
    const TextModel own(Tokenizer::trained("the cat and the rat and the hat", 270));
    EXPECT_TRUE(own.conventions().pieces);
    EXPECT_NE(own.pieces(), nullptr);
    EXPECT_EQ(own.conventions().token, "piece");
    EXPECT_EQ(own.conventions().mask, "_");
    EXPECT_EQ(own.decode(ids_of(own, "the hat")), "the hat");
}

TEST(TextModel, OfAPublishedModelKnowsItsTemplateAndSpecialTokens) {
    const WithTokenizer bert("bert", "bert_uncased"), t5("t5", "t5");
    EXPECT_EQ(bert.text().conventions().mask, "[MASK]");
    EXPECT_TRUE(bert.text().conventions().pairs);
    const Ids read = ids_of(bert.text(), "the cat");
    EXPECT_EQ(bert.text().vocabulary().at(static_cast<std::size_t>(read.front())), "[CLS]");
    EXPECT_EQ(ids_of(bert.text(), "the cat", Reader::Decoder).size(), read.size() - 2) << "without the template";
    EXPECT_EQ(bert.text().decode(read), "the cat") << "special tokens are left out";
    ASSERT_TRUE(t5.text().conventions().decoder_start);
    const Ids written = ids_of(t5.text(), "the cat", Reader::Decoder);
    EXPECT_EQ(written.front(), *t5.text().conventions().decoder_start);
    EXPECT_NE(ids_of(t5.text(), "the cat").front(), *t5.text().conventions().decoder_start);
    EXPECT_EQ(t5.text().conventions().ends_after(read), t5.text().conventions().ends) << "its files name them, not its source";
    ASSERT_FALSE(t5.text().conventions().ends.empty());
    EXPECT_TRUE(t5.text().conventions().is_end(t5.text().conventions().ends.front()));
    EXPECT_FALSE(t5.text().conventions().is_end(written.back()));
}

/// Some tokenizers put a space before a text's first word and take it away again.
TEST(TextModel, KnowsHowATextBegins) {
    const WithTokenizer llama("llama", "llama2");
    const auto published = OpenedModel::open(kPublished / "gpt2");
    const TextModel &text = llama.text(), &gpt2 = published->text();
    const std::int32_t word = ids_of(text, "the").at(1), spaced = ids_of(gpt2, "a the").back();
    EXPECT_EQ(text.vocabulary().at(static_cast<std::size_t>(word)), " the");
    EXPECT_EQ(text.first_text(word), "the");
    EXPECT_EQ(gpt2.first_text(spaced), gpt2.vocabulary().at(static_cast<std::size_t>(spaced))) << "here the space belongs to the text";
}

TEST(KeptTokenizer, GivesAPublishedModelItsOwn) {
    const Document published = document_of_model(OpenedModel::open(kPublished / "llama"));
    KeptTokenizer kept;
    EXPECT_EQ(kept.of(published).get(), &published.model->text());
    EXPECT_EQ(&conventions_of(published), &published.model->text().conventions());
    EXPECT_FALSE(conventions_of(open_preset("stories")).ids);
    EXPECT_EQ(&conventions_of(open_preset("stories")), &own_conventions(TokenizerKind::Word, open_preset("stories").special_tokens));
}

TEST(KeptTokenizer, IdsAreTheSameOfEqualVocabularies) {
    const Document llama = document_of_model(OpenedModel::open(kPublished / "llama")), own = open_preset("stories");
    const Document other = document_of_model(OpenedModel::open(kPublished / "gpt2"));
    EXPECT_TRUE(same_ids(llama, llama));
    EXPECT_TRUE(same_ids(own, own));
    EXPECT_FALSE(same_ids(llama, other));
    EXPECT_FALSE(same_ids(llama, own));
    EXPECT_FALSE(same_ids(own, llama));
}

}  // namespace
}  // namespace attn::app
