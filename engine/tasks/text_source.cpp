/// Windows of a text whose last part is held out.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "engine/io/file_error.hpp"
#include "engine/tasks/given_words.hpp"
#include "engine/tasks/sample_text.hpp"
#include "engine/tasks/sequence_source.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

const std::string& text_of(const TaskSettings& settings) { return settings.text != nullptr ? *settings.text : *sample_text(); }

Tokenizer tokenizer_for(const TaskSettings& settings, GivenWords words) {
    if (!words.empty()) return tokenizer_of(words);
    const std::string& text = text_of(settings);
    if (settings.tokenizer == TokenizerKind::Bpe) return Tokenizer::trained(text, settings.vocab);
    return {TokenizerKind::Character, std::span(&text, 1), false};
}

/// Encodes in pieces, because encode()'s tokens are much larger than ids.
std::vector<std::int32_t> ids_of(const Tokenizer& tokenizer, std::string_view text) {
    constexpr std::size_t kPiece = 1 << 16;
    const bool words = tokenizer.kind() == TokenizerKind::Word;
    const auto inside_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    const auto inside_word = [](char c) { return std::string_view(" \t\r\n").find(c) == std::string_view::npos; };
    std::vector<std::int32_t> ids;
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
        end = std::min(text.size(), begin + kPiece);
        while (end < text.size() && (words ? inside_word(text[end]) : inside_character(text[end]))) ++end;
        for (const TextToken& token : tokenizer.encode(text.substr(begin, end - begin))) ids.push_back(token.id);
    }
    return ids;
}

const char* name_of_tokens(TokenizerKind kind) {
    return kind == TokenizerKind::Bpe ? "pieces" : kind == TokenizerKind::Word ? "words" : "characters";
}

class TextSource : public SequenceSource {
public:
    TextSource(const TaskSettings& settings, GivenWords words)
        : tokenizer_(tokenizer_for(settings, words)), ids_(ids_of(tokenizer_, text_of(settings))), length_(settings.length) {
        const std::int64_t size = static_cast<std::int64_t>(ids_.size());
        training_ = size - static_cast<std::int64_t>(static_cast<double>(size) * settings.validation_share);
        const std::int64_t shorter = std::min(training_, size - training_);
        if (shorter < length_ + 1)
            throw ConfigError(fmt::format("{} is too short: of its {} {} {} are for training and {} held out; expected at least {} in each "
                                          "part (the task's length and one more)",
                                          settings.text_name.empty() ? "the text" : escaped(settings.text_name), size,
                                          name_of_tokens(tokenizer_.kind()), training_, size - training_, length_ + 1));
        windows_ = (size - training_ - 1) / length_;
    }

    Tokenizer tokenizer() const override { return tokenizer_; }
    std::int64_t length() const override { return length_; }
    SequenceSize draw(Draws& draws, SequenceSlot slot) const override { return write(draws.below(training_ - length_), slot); }

    /// A long text is sampled evenly.
    std::int64_t held_out() const override { return std::min<std::int64_t>(windows_, kMaxHeldOut); }

    SequenceSize held_out(std::int64_t index, SequenceSlot slot) const override {
        return write(training_ + index * windows_ / held_out() * length_, slot);
    }

private:
    static constexpr std::int64_t kMaxHeldOut = 128;

    SequenceSize write(std::int64_t start, SequenceSlot slot) const {
        const auto first = ids_.begin() + start;
        std::copy_n(first, length_, slot.tokens.begin());
        std::copy_n(first + 1, length_, slot.targets.begin());
        return {length_, 0};
    }

    Tokenizer tokenizer_;
    std::vector<std::int32_t> ids_;
    std::int64_t length_;
    std::int64_t training_ = 0;  ///< tokens before the held-out part
    std::int64_t windows_ = 0;   ///< number of windows in the held-out part, side by side
};

}  // namespace

std::unique_ptr<const SequenceSource> make_text_source(const TaskSettings& settings, GivenWords words) {
    return std::make_unique<TextSource>(settings, words);
}

}  // namespace attn
