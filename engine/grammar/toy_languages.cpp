#include "engine/grammar/toy_languages.hpp"

#include <algorithm>
#include <bitset>

namespace attn {
namespace {

struct NounForms {
    const char *singular, *plural;  ///< in English
    const char* stem;               ///< in the other language, without the gender ending
    char gender;                    ///< the final vowel of the noun and its adjectives
    const char* second;             ///< the second word in the other language, or null
};
constexpr std::array<NounForms, 12> kBeings = {{{"cat", "cats", "mir", 'a', nullptr},
                                                {"bird", "birds", "pil", 'a', nullptr},
                                                {"girl", "girls", "nen", 'a', nullptr},
                                                {"queen", "queens", "lum", 'a', nullptr},
                                                {"mouse", "mice", "sut", 'a', nullptr},
                                                {"dog", "dogs", "kel", 'o', nullptr},
                                                {"fox", "foxes", "vur", 'o', nullptr},
                                                {"boy", "boys", "tav", 'o', nullptr},
                                                {"king", "kings", "reg", 'o', nullptr},
                                                {"man", "men", "per", 'o', nullptr},
                                                {"teacher", "teachers", "per", 'o', "skolu"},
                                                {"sailor", "sailors", "per", 'o', "maru"}}};
constexpr std::array<NounForms, 6> kToyPlaces = {{{"garden", "gardens", "felv", 'a', nullptr},
                                                  {"river", "rivers", "nil", 'o', nullptr},
                                                  {"house", "houses", "dom", 'o', nullptr},
                                                  {"library", "libraries", "dom", 'o', "libru"},
                                                  {"hill", "hills", "tolm", 'a', nullptr},
                                                  {"bridge", "bridges", "krav", 'a', nullptr}}};

struct VerbForms {
    const char *plural, *singular, *past;  ///< in English; the past is the same in both numbers
    const char* stem;
    const char* first;  ///< the word before it in the other language, or null
};
constexpr std::array<VerbForms, 10> kVerbs = {{{"see", "sees", "saw", "lok", nullptr},
                                               {"love", "loves", "loved", "amir", nullptr},
                                               {"hear", "hears", "heard", "tun", nullptr},
                                               {"find", "finds", "found", "gad", nullptr},
                                               {"follow", "follows", "followed", "pas", nullptr},
                                               {"help", "helps", "helped", "bun", nullptr},
                                               {"draw", "draws", "drew", "skir", nullptr},
                                               {"watch", "watches", "watched", "lok", "rel"},
                                               {"remember", "remembers", "remembered", "tor", "mem"},
                                               {"forget", "forgets", "forgot", "tor", "nul"}}};
constexpr std::array<const char*, 4> kVerbEndings = {"et", "ent", "ut", "unt"};  // present singular and plural, then past

struct PlainForms {
    const char* english;
    const char *first, *second;  ///< in the other language; the second may be null
};
constexpr std::array<PlainForms, 8> kAdjectives = {{{"small", "tim", nullptr},
                                                    {"big", "gor", nullptr},
                                                    {"red", "ruv", nullptr},
                                                    {"white", "bel", nullptr},
                                                    {"happy", "joz", nullptr},
                                                    {"quick", "zup", nullptr},
                                                    {"quiet", "mol", nullptr},
                                                    {"young", "yun", nullptr}}};
constexpr std::array<PlainForms, 4> kAdverbs = {
    {{"always", "semu", nullptr}, {"often", "ratu", nullptr}, {"gladly", "jozu", nullptr}, {"never", "nu", "semu"}}};
constexpr std::array<PlainForms, 4> kPrepositions = {
    {{"in", "ni", nullptr}, {"near", "kol", nullptr}, {"under", "dru", nullptr}, {"behind", "ard", nullptr}}};
enum class Article : std::uint8_t { The, A, Two, Three };
constexpr std::array<PlainForms, 4> kArticles = {
    {{"the", "le", nullptr}, {"a", nullptr, nullptr}, {"two", "dun", nullptr}, {"three", "trin", nullptr}}};
constexpr std::array<PlainForms, 2> kEndings = {{{".", ".", nullptr}, {"!", "!", nullptr}}};
constexpr const char* kObjectMark = "en";

constexpr std::int32_t kNoWord = -1;

/// A word's ids: in English, and its one or two words in the other language.
struct Entry {
    std::int32_t english = kNoWord, first = kNoWord, second = kNoWord;
};

struct Lexicon {
    std::vector<std::string> words;
    std::int32_t object_mark = 0;
    std::array<Entry, kEndings.size()> endings;
    std::array<Entry, kArticles.size()> articles;
    std::array<Entry, kAdverbs.size()> adverbs;
    std::array<Entry, kPrepositions.size()> prepositions;
    std::array<std::array<Entry, 4>, kAdjectives.size()> adjectives;  ///< by agreement
    std::array<std::array<Entry, 2>, kBeings.size()> beings;          ///< by number
    std::array<std::array<Entry, 2>, kToyPlaces.size()> places;
    std::array<std::array<Entry, 4>, kVerbs.size()> verbs;  ///< by ending

    Lexicon() {
        id(kAnswerBegins);
        for (std::size_t i = 0; i < endings.size(); ++i) endings[i] = entry(kEndings[i]);
        for (std::size_t i = 0; i < articles.size(); ++i) articles[i] = entry(kArticles[i]);
        for (std::size_t i = 0; i < adverbs.size(); ++i) adverbs[i] = entry(kAdverbs[i]);
        for (std::size_t i = 0; i < prepositions.size(); ++i) prepositions[i] = entry(kPrepositions[i]);
        for (std::size_t i = 0; i < beings.size(); ++i) beings[i] = entries(kBeings[i]);
        for (std::size_t i = 0; i < places.size(); ++i) places[i] = entries(kToyPlaces[i]);
        for (std::size_t i = 0; i < adjectives.size(); ++i)
            for (const bool plural : {false, true})
                for (const char gender : {'a', 'o'})
                    adjectives[i][agreement(gender, plural)] = {id(kAdjectives[i].english),
                                                                id(inflected(kAdjectives[i].first, gender, plural)), kNoWord};
        for (std::size_t i = 0; i < verbs.size(); ++i) verbs[i] = entries(kVerbs[i]);
        object_mark = id(kObjectMark);
    }

    static std::size_t agreement(char gender, bool plural) { return (gender == 'a' ? 0U : 2U) + (plural ? 1U : 0U); }

private:
    std::int32_t id(const std::string& word) {
        const auto found = std::find(words.begin(), words.end(), word);
        if (found != words.end()) return static_cast<std::int32_t>(found - words.begin());
        words.push_back(word);
        return static_cast<std::int32_t>(words.size() - 1);
    }
    std::int32_t id_or_none(const char* word) { return word == nullptr ? kNoWord : id(word); }

    static std::string inflected(const char* stem, char gender, bool plural) { return std::string(stem) + gender + (plural ? "n" : ""); }

    Entry entry(const PlainForms& forms) { return {id(forms.english), id_or_none(forms.first), id_or_none(forms.second)}; }

    std::array<Entry, 2> entries(const NounForms& noun) {
        std::array<Entry, 2> both;
        for (const bool plural : {false, true})
            both[plural ? 1 : 0] = {id(plural ? noun.plural : noun.singular), id(inflected(noun.stem, noun.gender, plural)),
                                    id_or_none(noun.second)};
        return both;
    }

    std::array<Entry, 4> entries(const VerbForms& verb) {
        const std::array<const char*, 4> english = {verb.singular, verb.plural, verb.past, verb.past};
        std::array<Entry, 4> all;
        for (std::size_t ending = 0; ending < all.size(); ++ending) {
            const std::int32_t inflected = id(std::string(verb.stem) + kVerbEndings[ending]), first = id_or_none(verb.first);
            all[ending] = {id(english[ending]), first == kNoWord ? inflected : first, first == kNoWord ? kNoWord : inflected};
        }
        return all;
    }
};

const Lexicon& lexicon() {
    static const Lexicon made;
    return made;
}

/// Article, adjective and noun, with their positions in the English sentence.
struct Phrase {
    Entry article, adjective, noun;
    std::int32_t article_at = -1, adjective_at = -1, noun_at = -1;
};

/// What a sentence has not used yet: nothing occurs twice.
struct Left {
    std::bitset<kAdjectives.size()> adjectives;
    std::bitset<kBeings.size()> beings;
    std::bitset<kToyPlaces.size()> places;
    Left() {
        adjectives.set();
        beings.set();
        places.set();
    }
};

/// Takes one of those left at random and removes it.
template <std::size_t Count>
std::size_t take_any(Draws& draws, std::bitset<Count>& left) {
    std::int64_t skip = draws.below(static_cast<std::int64_t>(left.count()));
    for (std::size_t i = 0;; ++i)
        if (left[i] && skip-- == 0) {
            left.reset(i);
            return i;
        }
}

Phrase draw_phrase(Draws& draws, bool place, bool plural, Left& left) {
    const Lexicon& all = lexicon();
    Phrase phrase;
    std::int64_t article = draws.below(plural ? 3 : 2);
    if (plural && article > 0) ++article;  // plural: "the", "two" or "three"; singular: "the" or "a"
    phrase.article = all.articles[static_cast<std::size_t>(article)];
    const std::size_t noun = place ? take_any(draws, left.places) : take_any(draws, left.beings);
    phrase.noun = (place ? all.places[noun] : all.beings[noun])[plural ? 1 : 0];
    if (draws.below(2) == 0) return phrase;
    const char gender = place ? kToyPlaces[noun].gender : kBeings[noun].gender;
    phrase.adjective = all.adjectives[take_any(draws, left.adjectives)][Lexicon::agreement(gender, plural)];
    return phrase;
}

/// Writes both sentences, the English one first.
class PairWriter {
public:
    explicit PairWriter(SentencePair& pair) : pair_(pair) { pair_.aligned.fill(-1); }

    std::int32_t english(std::int32_t word) {
        if (word == kNoWord) return -1;
        pair_.english.room[pair_.english.count] = word;
        return static_cast<std::int32_t>(pair_.english.count++);
    }
    void english(Phrase& phrase) {
        phrase.article_at = english(phrase.article.english);
        phrase.adjective_at = english(phrase.adjective.english);
        phrase.noun_at = english(phrase.noun.english);
    }

    void answer(std::int32_t word, std::int32_t renders) {
        if (word == kNoWord) return;
        pair_.aligned[pair_.answer.count] = renders;
        pair_.answer.room[pair_.answer.count++] = word;
    }
    void answer(const Entry& entry, std::int32_t renders) {
        answer(entry.first, renders);
        answer(entry.second, renders);
    }
    void answer(const Phrase& phrase) {
        answer(phrase.article, phrase.article_at);
        answer(phrase.noun, phrase.noun_at);
        answer(phrase.adjective, phrase.adjective_at);
    }

private:
    SentencePair& pair_;
};

}  // namespace

const std::vector<std::string>& toy_vocabulary() { return lexicon().words; }

SentencePair draw_sentence_pair(Draws& draws) {
    const Lexicon& all = lexicon();
    const auto any = [&](const auto& of) { return of[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(of.size())))]; };
    const auto sometimes = [&](const auto& of) { return draws.below(2) == 0 ? Entry() : any(of); };
    Left left;
    const bool several = draws.below(2) == 1, several_objects = draws.below(2) == 1, several_places = draws.below(2) == 1;
    const bool past = draws.below(2) == 1;
    Phrase subject = draw_phrase(draws, false, several, left), object = draw_phrase(draws, false, several_objects, left);
    const Entry adverb = sometimes(all.adverbs), preposition = sometimes(all.prepositions);
    const Entry ending = any(all.endings);
    const Entry verb = any(all.verbs)[(past ? 2U : 0U) + (several ? 1U : 0U)];
    Phrase place = preposition.english == kNoWord ? Phrase() : draw_phrase(draws, true, several_places, left);

    SentencePair pair;
    PairWriter writer(pair);
    writer.english(subject);
    const std::int32_t adverb_at = writer.english(adverb.english), verb_at = writer.english(verb.english);
    writer.english(object);
    const std::int32_t preposition_at = writer.english(preposition.english);
    writer.english(place);
    const std::int32_t end_at = writer.english(ending.english);

    writer.answer(adverb, adverb_at);
    writer.answer(subject);
    writer.answer(object);
    writer.answer(all.object_mark, -1);
    writer.answer(place);
    writer.answer(preposition, preposition_at);
    writer.answer(verb, verb_at);
    writer.answer(ending, end_at);
    return pair;
}

}  // namespace attn
