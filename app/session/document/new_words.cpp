#include "app/session/document/new_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/session/states/kept_tokenizer.hpp"
#include "engine/io/file_error.hpp"

namespace attn::app {
namespace {

/// More are counted, so that the sentence stays one line.
constexpr std::size_t kMostNamed = 3;

/// "“a”, “b” and “c”", or "“a”, “b” and 4 others".
std::string named_words(std::span<const std::string> words) {
    const std::size_t named = words.size() <= kMostNamed ? words.size() : kMostNamed - 1;
    std::string text;
    for (std::size_t i = 0; i < named; ++i) {
        if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
        text += fmt::format("“{}”", escaped(words[i]));
    }
    return named == words.size() ? text : fmt::format("{} and {} others", text, words.size() - named);
}

}  // namespace

std::span<const std::string> known_words(const Setup& setup) {
    if (setup.model || setup.tokenizer != TokenizerKind::Word) return {};
    const std::span<const std::string> all = setup.vocabulary;
    const auto first = std::min(all.size(), static_cast<std::size_t>(conventions_of(setup).first_word));
    // Places stand at the end.
    std::size_t end = all.size();
    while (end > first && has_places(all.subspan(end - 1, 1))) --end;
    return all.subspan(first, end - first);
}

std::string reading_words(const Setup& setup) {
    if (setup.model || setup.vocabulary.empty() || has_places(setup.vocabulary)) return "reads any word";
    const std::string_view tokens = setup.tokenizer == TokenizerKind::Word        ? "words"
                                    : setup.tokenizer == TokenizerKind::Character ? "characters"
                                                                                  : "";
    return tokens.empty() ? "reads any word" : fmt::format("knows {} {}", setup.vocabulary.size(), tokens);
}

std::vector<std::string> new_words_of(const Setup& setup) {
    if (setup.model || !has_places(setup.vocabulary)) return {};
    return KeptTokenizer().of(setup)->new_words(texts_read(setup));
}

std::string new_words_sentence(std::span<const std::string> words, std::int64_t places) {
    if (words.empty()) return "";
    const bool one = words.size() == 1, all = static_cast<std::int64_t>(words.size()) <= places;
    const std::string said = fmt::format("{} {} new to this model: it can ", named_words(words), one ? "is" : "are");
    const std::string kind = ", but it has only read stories of this kind.";
    if (all) return fmt::format("{}follow {} through the story{}", said, one ? "it" : "them", kind);
    const std::string& last = words[static_cast<std::size_t>(places) - 1];
    return fmt::format("{}tell {} new words apart and reads “{}” and those after it as one{}", said, places, escaped(last), kind);
}

std::string new_words_sentence(const Setup& setup) {
    const std::vector<std::string> words = new_words_of(setup);
    const std::int64_t places = std::count_if(setup.vocabulary.begin(), setup.vocabulary.end(), [](const std::string& word) {
        return has_places({&word, 1});
    });
    return new_words_sentence(words, places);
}

}  // namespace attn::app
