/// Probabilities of the next word, against grammars that can be counted by hand and against thousands of stories.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/grammar/stories.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn {
namespace {

/// "a b ." and "a c ." in two ways each, and "b" alone.
void tell_letters(Teller& teller) {
    const std::size_t way = teller.choose({1, 2, 0, 3});
    if (way == 3) return teller.say("b");
    teller.say("a");
    if (way == 0) teller.say("b .");
    else teller.say(teller.among(4) == 0 ? "b ." : "c .");
}

Grammar letters() { return Grammar({"a", "b", "c", "."}, tell_letters); }

std::vector<std::int32_t> story(std::uint64_t seed, std::uint64_t stream, std::size_t room = 64) {
    std::vector<std::int32_t> words(room);
    Draws draws(seed, stream);
    words.resize(static_cast<std::size_t>(stories().tell(draws, words)));
    return words;
}

std::string text_of(const std::vector<std::int32_t>& words) {
    std::string text;
    for (const std::int32_t word : words) text += (text.empty() ? "" : " ") + stories().vocabulary()[static_cast<std::size_t>(word)];
    return text;
}

TEST(Grammar, ChancesAreThoseOfCounting) {
    const Grammar grammar = letters();
    const std::vector<NextWord> places = grammar.next_words(grammar.ids_of("a b ."));
    ASSERT_EQ(places.size(), 4U);
    EXPECT_NEAR(places[0].chance_of(0), 0.5, 1e-12);
    EXPECT_NEAR(places[0].chance_of(1), 0.5, 1e-12);
    // After "a": 1/6 of b in one way, 2/6 * 1/4 in the other, 2/6 * 3/4 of c.
    EXPECT_NEAR(places[1].chance_of(1), 0.5, 1e-12);
    EXPECT_NEAR(places[1].chance_of(2), 0.5, 1e-12);
    EXPECT_NEAR(places[1].entropy(), std::log(2.0), 1e-12);
    EXPECT_FALSE(places[1].determined());
    EXPECT_TRUE(places[2].determined());
    EXPECT_EQ(places[2].entropy(), 0);
    EXPECT_TRUE(places[3].words.empty());  // it has ended
    EXPECT_FALSE(places[3].determined());
}

TEST(Grammar, NamesTheWordThatCannotStandThere) {
    const Grammar grammar = letters();
    EXPECT_THROW(grammar.ids_of("a d"), Error);
    EXPECT_THROW(Grammar({"a", "a"}, tell_letters), Error);
    try {
        grammar.next_words(grammar.ids_of("a a"));
        FAIL() << "\"a a\" is no text of this grammar";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "\"a\" cannot be word 2 of this text of the grammar");
    }
}

TEST(Stories, HaveAVocabularyOfWordsThatAllOccurAndTheTokenizerKeeps) {
    const std::vector<std::string>& vocabulary = stories().vocabulary();
    EXPECT_GE(vocabulary.size(), 120U);
    EXPECT_LE(vocabulary.size(), 250U);
    const Tokenizer tokenizer = Tokenizer::from_vocabulary(TokenizerKind::Word, vocabulary, false);
    std::set<std::int32_t> said;
    for (std::uint64_t i = 0; i < 4000; ++i) {
        const std::vector<std::int32_t> words = story(3, i);
        said.insert(words.begin(), words.end());
        if (i > 50) continue;
        const std::vector<TextToken> tokens = tokenizer.encode(text_of(words));
        ASSERT_EQ(tokens.size(), words.size());
        for (std::size_t t = 0; t < words.size(); ++t) EXPECT_EQ(tokens[t].id, words[t]);
    }
    for (std::size_t id = 0; id < vocabulary.size(); ++id)
        EXPECT_TRUE(said.contains(static_cast<std::int32_t>(id))) << vocabulary[id] << " is never said";
}

TEST(Stories, AreTheSameForTheSameSeedAndCutOffWithoutRoom) {
    EXPECT_EQ(story(1, 5), story(1, 5));
    EXPECT_NE(story(1, 5), story(2, 5));
    const std::vector<std::int32_t> whole = story(1, 5), cut = story(1, 5, 9);
    ASSERT_GE(whole.size(), 20U);
    EXPECT_EQ(cut, std::vector(whole.begin(), whole.begin() + 9));
    EXPECT_EQ(story(1, 5, 0).size(), 0U);
}

/// Derives who has what from the words alone: an oracle independent of the story generator.
class Reader {
public:
    /// False if a question is answered wrongly or a pronoun is ambiguous or refers to nobody.
    bool read(const std::string& text) {
        std::string sentence;
        for (std::size_t begin = 0; begin < text.size();) {
            const std::size_t end = std::min(text.find(' ', begin), text.size());
            const std::string word = text.substr(begin, end - begin);
            if (word == "\"") open_ = !open_;
            words_.push_back(word);
            if (!understand(word)) return false;
            if (word == "." || word == "?" || (word == "\"" && !open_)) words_.clear();
            begin = end + 1;
        }
        return true;
    }
    const std::set<std::string>& children() const { return children_; }
    int answered = 0, pronouns = 0;

private:
    static bool girl(const std::string& name) {
        static const std::set<std::string> kGirls = {"Lily", "Anna", "Mia", "Emma", "Nora", "Sara", "Ella", "Rosa"};
        return kGirls.contains(name);
    }
    static bool boy(const std::string& name) {
        static const std::set<std::string> kBoys = {"Tom", "Ben", "Max", "Sam", "Leo", "Jack", "Finn", "Paul"};
        return kBoys.contains(name);
    }
    /// The child that a word refers to; "" if none.
    std::string child(const std::string& word) {
        if (girl(word) || boy(word)) return word;
        const bool she = word == "She" || word == "she" || word == "her", he = word == "He" || word == "he" || word == "him";
        if (!she && !he) return "";
        ++pronouns;
        std::string meant;
        for (const std::string& name : children_)
            if (girl(name) == she) {
                if (!meant.empty()) return subject_;  // two candidates: the subject of the sentence
                meant = name;
            }
        return meant.empty() ? "nobody" : meant;
    }
    bool understand(const std::string& word) {
        const std::string who = child(word);
        if (who == "nobody") return false;
        if (girl(word) || boy(word)) children_.insert(word);
        const std::size_t n = words_.size();
        if (!who.empty() && !asking_.empty() && n == 1) {
            ++answered;
            const bool right = holders_.at(asking_) == who;
            asking_.clear();
            if (!right) return false;
        }
        if (!who.empty() && (n == 1 || words_[n - 2] == "and" || words_[n - 2] == "but" || words_[n - 2] == "so")) {
            if (!gives_) subject_ = who;
        }
        if (word == "has") verb_ = "has";
        if (word == "gives") gives_ = true;
        if (gives_ && !who.empty()) taker_ = who;
        static const std::set<std::string> kToys = {"ball", "book", "kite", "drum", "doll", "hat", "cup", "boat", "bell", "flute"};
        if (kToys.contains(word)) {
            toy_ = word;
            if (verb_ == "has" && (words_[n - 3] == "a" || words_[n - 3] == "an")) holders_[word] = subject_;
        }
        if (word == "?" && words_.front() == "Who" && words_[1] == "has") asking_ = toy_;
        if (word == "." || word == "?") {
            if (gives_ && words_.front() != "Who" && !lost_) holders_[toy_] = taker_;
            gives_ = lost_ = false;
            verb_.clear();
        }
        if (word == "finds") lost_ = true;  // and returns it
        return true;
    }
    std::set<std::string> children_;
    std::map<std::string, std::string> holders_;
    std::vector<std::string> words_;
    std::string subject_, verb_, taker_, toy_, asking_;
    bool open_ = false, gives_ = false, lost_ = false;
};

TEST(Stories, AnswerTheirOwnQuestionsAndUsePronounsThatMeanSomebody) {
    int answered = 0, pronouns = 0, wrong = 0;
    for (std::uint64_t i = 0; i < 2000; ++i) {
        const std::string text = text_of(story(11, i));
        Reader reader;
        EXPECT_TRUE(reader.read(text)) << text;
        answered += reader.answered;
        pronouns += reader.pronouns;
        // Negative control: if another child of the story is named, the reader objects.
        const std::size_t question = text.find("Who has"), at = question == std::string::npos ? question : text.find("? ", question);
        if (at == std::string::npos || text.find(' ', at + 2) == std::string::npos) continue;
        const std::string answer = text.substr(at + 2, text.find(' ', at + 2) - at - 2);
        for (const std::string& name : reader.children()) {
            if (name == answer) continue;
            Reader other;
            EXPECT_FALSE(other.read(std::string(text).replace(at + 2, answer.size(), name))) << text;
            ++wrong;
            break;
        }
    }
    EXPECT_GT(answered, 500);
    EXPECT_GT(pronouns, 2000);
    EXPECT_GT(wrong, 100);
}

TEST(Stories, CloseEveryQuotation) {
    for (std::uint64_t i = 0; i < 500; ++i) {
        const std::vector<std::int32_t> words = story(12, i, 1000);
        EXPECT_EQ(std::count(words.begin(), words.end(), stories().id_of("\"")) % 2, 0) << text_of(words);
        EXPECT_EQ(words.back(), stories().id_of("."));
    }
}

TEST(Stories, ChancesSumToOneAndTheTextIsAmongThem) {
    for (std::uint64_t i = 0; i < 60; ++i) {
        const std::vector<std::int32_t> words = story(13, i);
        const std::vector<NextWord> places = stories().next_words(words);
        ASSERT_EQ(places.size(), words.size() + 1);
        for (std::size_t t = 0; t < words.size(); ++t) {
            double sum = 0;
            for (const WordChance& at : places[t].words) sum += at.chance;
            EXPECT_NEAR(sum, 1, 1e-9);
            EXPECT_GT(places[t].chance_of(words[t]), 0);
        }
    }
}

TEST(Stories, ChancesAreTheFrequenciesOfManyStories) {
    // All places among the first words, counted over stories with the same beginning.
    std::map<std::vector<std::int32_t>, std::map<std::int32_t, int>> counts;
    for (std::uint64_t i = 0; i < 300'000; ++i) {
        const std::vector<std::int32_t> words = story(14, i, 14);
        for (std::size_t t = 1; t < words.size(); ++t)
            if (t < 3 || words[0] == stories().id_of("Lily"))
                ++counts[{words.begin(), words.begin() + static_cast<std::ptrdiff_t>(t)}][words[t]];
    }
    int compared = 0;
    for (const auto& [prefix, next] : counts) {
        int all = 0;
        for (const auto& [word, count] : next) all += count;
        if (all < 2000) continue;
        const NextWord expected = stories().next_words(prefix).back();
        double sum = 0;
        for (const WordChance& at : expected.words) {
            const auto found = next.find(at.word);
            const double share = found == next.end() ? 0 : static_cast<double>(found->second) / all;
            EXPECT_NEAR(share, at.chance, 5 * std::sqrt(at.chance * (1 - at.chance) / all) + 1e-9) << text_of(prefix);
            sum += share;
        }
        EXPECT_NEAR(sum, 1, 1e-12) << "more than may come after " << text_of(prefix);
        ++compared;
    }
    EXPECT_GT(compared, 15);
}

TEST(Stories, KnowWhatAReaderKnows) {
    const auto next = [](const std::string& text) { return stories().next_words(stories().ids_of(text)).back(); };
    const auto must = [&](const std::string& text, const std::string& word) {
        const NextWord at = next(text);
        EXPECT_TRUE(at.determined()) << text;
        EXPECT_NEAR(at.chance_of(stories().id_of(word)), 1, 1e-9) << text << " " << word;
    };
    const std::string begin = "Lily and Tom are in the park . She has a red ball , but he has nothing . ";
    must("Lily and Tom are in the park . She has a red ball , but he", "has");
    must(begin + "Who has the ball ?", "Lily");
    must(begin + "She gives the ball to Tom . Who", "has");
    must(begin + "She gives the ball to Tom . Who has the ball ?", "Tom");
    must(begin + "She gives Tom the ball . \" Thank you ,", "Lily");
    must(begin + "She gives the ball to Tom . So", "Lily");
    must(begin + "She gives the ball to Tom . So Lily has", "nothing");
    must(begin + "She gives the ball to Tom . So Lily has nothing , and Tom has the", "ball");
    must(begin + "He is wet because it is raining . Who is wet ?", "Tom");
    must(begin + "She is sad because", "she");
    must(begin + "She is sad because she lost the", "ball");
    must(begin + "She is hungry , so", "she");
    must(begin + "She is happy , but Tom is", "sad");
    must(begin + "The dogs near the house", "are");
    must(begin + "The dog near the houses", "is");
    must(begin + "Tom sees a dog , a cat and an owl . Lily also sees a dog , a cat and", "an");
    must(begin + "Then Anna comes to", "the");
    must(begin + "Then Anna comes to the", "park");
    EXPECT_FALSE(next(begin).determined());
    EXPECT_GT(next(begin).entropy(), 1);
}

}  // namespace
}  // namespace attn
