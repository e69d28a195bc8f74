#include "engine/tokenizer/own_bpe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/bpe.hpp"
#include "engine/tokenizer/byte_alphabet.hpp"
#include "engine/tokenizer/decoder.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace attn {
namespace {

/// Longer tokens, which runs of one character would produce, are useless.
constexpr std::size_t kLongestOwnToken = 256;

/// The bytes in the order of GPT-2's letters: printable ones first.
const std::array<unsigned char, kByteTokens>& bytes_in_order() {
    static const std::array<unsigned char, kByteTokens> kBytes = [] {
        std::array<unsigned char, kByteTokens> bytes{};
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i);
        std::stable_partition(bytes.begin(), bytes.end(),
                              [](unsigned char byte) { return first_utf8(byte_letter(byte)).code_point == byte; });
        return bytes;
    }();
    return kBytes;
}

using Pair = std::uint64_t;
Pair pair_of(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U | static_cast<std::uint32_t>(right);
}
std::int32_t left_of(Pair pair) { return static_cast<std::int32_t>(pair >> 32U); }
std::int32_t right_of(Pair pair) { return static_cast<std::int32_t>(pair & 0xFFFFFFFFU); }

/// The first position from `at` on where a text can be cut without splitting a word: before a single space between visible characters. The
/// text's end if there is none.
std::size_t cut_behind(std::string_view text, std::size_t at) {
    const auto blank = [&](std::size_t i) { return text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r') || (text[i] & 0x80) != 0; };
    for (; at + 1 < text.size(); ++at)
        if (at > 0 && text[at] == ' ' && !blank(at - 1) && !blank(at + 1)) return at;
    return text.size();
}

/// Every distinct word of the text, as byte letters, with its count, in order of first occurrence.
std::vector<std::pair<std::string, std::int64_t>> counted_words(std::string_view text) {
    constexpr std::size_t kPiece = 1 << 16;
    const PreTokenizer cut = byte_level(false, true);
    std::vector<std::pair<std::string, std::int64_t>> words;
    std::unordered_map<std::string, std::size_t> places;
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
        end = text.size() - begin <= kPiece ? text.size() : cut_behind(text, begin + kPiece);
        PieceList list{AlignedText::of(text.substr(begin, end - begin)), {}};
        list.pieces.push_back({0, list.content.text.size(), begin == 0, -1});
        cut.apply(list);
        for (const Piece& piece : list.pieces) {
            const auto [place, added] = places.try_emplace(std::string(list.text_of(piece)), words.size());
            if (added) words.emplace_back(place->first, 0);
            ++words[place->second].second;
        }
    }
    return words;
}

class BpeTrainer {
public:
    BpeTrainer(std::string_view text, std::int64_t size) : size_(size) {
        std::array<std::int32_t, kByteTokens> ids{};
        for (const unsigned char byte : bytes_in_order()) {
            ids[byte] = static_cast<std::int32_t>(tokens_.size());
            tokens_.emplace_back(1, static_cast<char>(byte));
        }
        for (auto& [letters, count] : counted_words(text)) {
            Word& word = words_.emplace_back(Word{{}, count});
            const std::string bytes = bytes_of_letters(letters).value();
            for (const char byte : bytes) word.ids.push_back(ids[static_cast<unsigned char>(byte)]);
            add_pairs(words_.size() - 1, 1);
        }
        for (const auto& [pair, found] : pairs_) queue_.push({found.count, pair});
    }

    std::vector<std::string> train() {
        while (static_cast<std::int64_t>(tokens_.size()) < size_ && join_commonest()) {
        }
        return std::move(tokens_);
    }

private:
    struct Word {
        std::vector<std::int32_t> ids;
        std::int64_t count = 0;
    };
    struct Found {
        std::int64_t count = 0;
        std::unordered_set<std::size_t> words;  ///< a superset of the words that contain it
    };
    struct Queued {
        std::int64_t count = 0;
        Pair pair = 0;
        bool operator<(const Queued& other) const { return count != other.count ? count < other.count : pair > other.pair; }
    };

    void add_pairs(std::size_t place, int sign) {
        const Word& word = words_[place];
        for (std::size_t i = 0; i + 1 < word.ids.size(); ++i) {
            const Pair pair = pair_of(word.ids[i], word.ids[i + 1]);
            Found& found = pairs_[pair];
            found.count += sign * word.count;
            if (sign > 0) found.words.insert(place);
            changed_.insert(pair);
        }
    }

    /// Merges the most frequent pair; false if no pair occurs twice.
    bool join_commonest() {
        while (!queue_.empty()) {
            const Queued top = queue_.top();
            queue_.pop();
            const auto found = pairs_.find(top.pair);
            if (found == pairs_.end() || found->second.count != top.count) continue;  // stale: it was queued again when it changed
            if (top.count < 2) return false;
            std::string whole =
                tokens_[static_cast<std::size_t>(left_of(top.pair))] + tokens_[static_cast<std::size_t>(right_of(top.pair))];
            if (whole.size() > kLongestOwnToken) continue;
            join(top.pair, std::move(whole));
            return true;
        }
        return false;
    }

    void join(Pair pair, std::string whole) {
        const std::int32_t left = left_of(pair), right = right_of(pair), id = static_cast<std::int32_t>(tokens_.size());
        tokens_.push_back(std::move(whole));
        const std::unordered_set<std::size_t> words = std::move(pairs_.at(pair).words);
        changed_.clear();
        for (const std::size_t place : words) {
            std::vector<std::int32_t>& ids = words_[place].ids;
            add_pairs(place, -1);
            std::size_t out = 0;
            for (std::size_t i = 0; i < ids.size(); ++i, ++out) {
                const bool joined = i + 1 < ids.size() && ids[i] == left && ids[i + 1] == right;
                ids[out] = joined ? id : ids[i];
                if (joined) ++i;
            }
            ids.resize(out);
            add_pairs(place, 1);
        }
        pairs_.erase(pair);
        for (const Pair other : changed_)
            if (const auto found = pairs_.find(other); found != pairs_.end() && found->second.count > 0)
                queue_.push({found->second.count, other});
    }

    std::int64_t size_;
    std::vector<std::string> tokens_;
    std::vector<Word> words_;
    std::unordered_map<Pair, Found> pairs_;
    std::unordered_set<Pair> changed_;  ///< by the last merge
    std::priority_queue<Queued> queue_;
};

/// Finds the merges that a vocabulary's order implies.
class JoinFinder {
public:
    explicit JoinFinder(std::span<const std::string> tokens) : tokens_(tokens) {
        for (std::size_t i = 0; i < bytes_in_order().size(); ++i) {
            const unsigned char byte = bytes_in_order()[i];
            if (i >= tokens.size() || tokens[i] != std::string(1, static_cast<char>(byte)))
                throw ConfigError(fmt::format("the piece of id {} is not the byte 0x{:02X}: the 256 bytes come first", i, byte));
            ids_[byte] = static_cast<std::int32_t>(i);
        }
    }

    std::vector<BpeJoin> find() {
        std::vector<BpeJoin> joins;
        for (std::size_t id = kByteTokens; id < tokens_.size(); ++id) {
            const std::vector<std::int32_t> parts = parts_of(tokens_[id]);
            if (parts.size() != 2)
                throw ConfigError(fmt::format("the piece of id {}, \"{}\", is not made of two earlier pieces", id, escaped(tokens_[id])));
            const auto whole = static_cast<std::int32_t>(id);
            ranks_[pair_of(parts[0], parts[1])] = whole;
            joins.push_back({parts[0], parts[1], whole, whole - static_cast<std::int32_t>(kByteTokens)});
        }
        return joins;
    }

private:
    /// What the merges so far reduce a token's bytes to.
    std::vector<std::int32_t> parts_of(std::string_view token) const {
        if (token.size() > kLongestOwnToken)
            throw ConfigError(fmt::format("a piece of {} bytes is too long; at most {} are accepted", token.size(), kLongestOwnToken));
        std::vector<std::int32_t> parts;
        for (const char byte : token) parts.push_back(ids_[static_cast<unsigned char>(byte)]);
        while (true) {
            std::optional<std::int32_t> best;
            std::size_t at = 0;
            for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
                const auto found = ranks_.find(pair_of(parts[i], parts[i + 1]));
                if (found == ranks_.end() || (best && found->second >= *best)) continue;
                best = found->second;
                at = i;
            }
            if (!best) return parts;
            parts[at] = *best;
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        }
    }

    std::span<const std::string> tokens_;
    std::array<std::int32_t, kByteTokens> ids_{};
    std::unordered_map<Pair, std::int32_t> ranks_;
};

}  // namespace

std::vector<std::string> train_bpe(std::string_view text, std::int64_t size) {
    if (size < kByteTokens || size > kMostOwnTokens)
        throw ConfigError(fmt::format("a vocabulary of {} pieces cannot be trained: expected {} to {}", size, kByteTokens, kMostOwnTokens));
    if (text.size() > kMaxTextBytes)
        throw ConfigError(fmt::format("a text of {} bytes is too long; at most {} are accepted", text.size(), kMaxTextBytes));
    return BpeTrainer(text, size).train();
}

std::shared_ptr<const ModelTokenizer> own_bpe(std::span<const std::string> tokens) {
    if (static_cast<std::int64_t>(tokens.size()) > kMostOwnTokens)
        throw ConfigError(fmt::format("a vocabulary of {} pieces is too large; at most {} are accepted", tokens.size(), kMostOwnTokens));
    const std::vector<BpeJoin> joins = JoinFinder(tokens).find();
    Vocabulary vocabulary;
    for (std::size_t id = 0; id < tokens.size(); ++id) vocabulary.add(letters_of_bytes(tokens[id]), static_cast<std::int64_t>(id));
    TokenizerParts parts;
    parts.pre_tokenizers = {byte_level(false, true)};
    parts.decoders = {byte_level_decoder()};
    parts.model = std::make_unique<Bpe>(std::move(vocabulary), joins, BpeOptions{});
    return std::make_shared<const ModelTokenizer>(std::move(parts));
}

}  // namespace attn
