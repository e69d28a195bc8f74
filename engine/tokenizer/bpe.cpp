#include "engine/tokenizer/bpe.hpp"

#include <fmt/format.h>

#include <queue>

#include "engine/io/file_error.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/component_json.hpp"

namespace attn {
namespace {

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U) | static_cast<std::uint32_t>(right);
}

}  // namespace

Bpe::Bpe(Vocabulary vocabulary, BpeOptions options) : TokenModel(std::move(vocabulary)), options_(std::move(options)) {
    if (!options_.unknown.empty()) {
        unknown_ = vocabulary_.find(options_.unknown);
        if (!unknown_) throw ConfigError(fmt::format("the unknown token \"{}\" is not in the vocabulary", escaped(options_.unknown)));
    }
    if (options_.byte_fallback && !(options_.continuing_prefix.empty() && options_.suffix.empty()))
        throw ConfigError("byte_fallback beside a prefix or a suffix of pieces is not supported");
    for (const std::string& text : options_.kept_whole) kept_.add(text, 0);
    for (const std::string& letter : options_.letters)
        letters_.emplace(letter, static_cast<std::int32_t>(vocabulary_.size() + static_cast<std::int64_t>(letters_.size())));
}

Bpe::Bpe(Vocabulary vocabulary, const std::vector<BpeJoin>& joins, BpeOptions options) : Bpe(std::move(vocabulary), std::move(options)) {
    joins_.reserve(joins.size());
    for (const BpeJoin& join : joins) joins_[key_of(join.left, join.right)] = {join.rank, join.whole};
}

Bpe::Bpe(Vocabulary vocabulary, const std::vector<Merge>& merges, BpeOptions options) : Bpe(std::move(vocabulary), std::move(options)) {
    joins_.reserve(merges.size());
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
        const std::string &left = merges[rank].first, &right = merges[rank].second;
        const auto id_of = [&](const std::string& text) {
            const std::optional<std::int32_t> id = vocabulary_.find(text);
            if (!id)
                throw ConfigError(fmt::format("merge {} of \"{}\" and \"{}\": the token \"{}\" is not in the vocabulary", rank,
                                              escaped(left), escaped(right), escaped(text)));
            return *id;
        };
        std::string whole = left;
        whole += right.starts_with(options_.continuing_prefix) ? right.substr(options_.continuing_prefix.size()) : right;
        // In separate statements, so that every compiler reports the same one of several missing tokens.
        const std::int32_t left_id = id_of(left);
        const std::int32_t right_id = id_of(right);
        joins_[key_of(left_id, right_id)] = {static_cast<std::int32_t>(rank), id_of(whole)};
    }
}

const Bpe::Join* Bpe::join_of(std::int32_t left, std::int32_t right) const {
    const auto found = joins_.find(key_of(left, right));
    return found == joins_.end() ? nullptr : &found->second;
}

std::size_t Bpe::kept_bytes(std::string_view text) const {
    if (!kept_.begins(text[0])) return 0;
    std::size_t longest = 0;
    std::int32_t node = ByteTrie::kRoot;
    for (std::size_t end = 0; end < text.size();) {
        node = kept_.child(node, text[end++]);
        if (node == ByteTrie::kNone) break;
        if (kept_.value(node) != ByteTrie::kNone) longest = end;
    }
    return longest;
}

std::vector<std::int32_t> Bpe::byte_tokens(std::string_view text) const {
    std::vector<std::int32_t> ids;
    if (options_.byte_fallback)
        for (const char c : text)
            if (const auto id = vocabulary_.find(fmt::format("<0x{:02X}>", static_cast<unsigned char>(c)))) ids.push_back(*id);
    return ids.size() == text.size() ? ids : std::vector<std::int32_t>();
}

void Bpe::append_letter(std::string_view word, const Symbol& letter, std::vector<WordToken>& out) const {
    const std::vector<std::int32_t> bytes = byte_tokens(word.substr(letter.begin, letter.end - letter.begin));
    for (std::uint32_t i = 0; i < bytes.size(); ++i) out.push_back({bytes[i], letter.begin + i, letter.begin + i + 1});
    if (bytes.empty() && unknown_) append_unknown(letter.begin, letter.end, out);
}

void Bpe::append_unknown(std::uint32_t begin, std::uint32_t end, std::vector<WordToken>& out) const {
    const bool joins = options_.fuse_unknown && begin > 0 && !out.empty() && out.back().id == *unknown_ && out.back().end == begin;
    if (joins) out.back().end = end;
    else out.push_back({*unknown_, begin, end});
}

std::vector<Bpe::Symbol> Bpe::characters_of(std::string_view word) const {
    std::vector<Symbol> symbols;
    symbols.reserve(word.size());
    const auto add = [&](std::int32_t id, std::size_t begin, std::size_t end) {
        const auto place = static_cast<std::int32_t>(symbols.size());
        if (place > 0) symbols.back().next = place;
        symbols.push_back({id, place - 1, -1, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
    };
    bool after_unknown = false;
    std::string spelled;
    for (std::size_t at = 0; at < word.size();) {
        if (const std::size_t kept = kept_bytes(word.substr(at)); kept > 0) {
            add(*vocabulary_.find(word.substr(at, kept)), at, at + kept);
            symbols.back().kept = true;
            after_unknown = false;
            at += kept;
            continue;
        }
        const std::size_t end = at + first_utf8(word.substr(at)).bytes;
        const std::string_view character = word.substr(at, end - at);
        spelled = at > 0 ? options_.continuing_prefix : "";
        spelled += character;
        if (end == word.size()) spelled += options_.suffix;
        const auto letter = letters_.find(character);
        bool known = true;
        if (const auto id = vocabulary_.find(spelled)) add(*id, at, end);
        else if (letter != letters_.end()) add(letter->second, at, end);
        else if (const std::vector<std::int32_t> bytes = byte_tokens(character); !bytes.empty())
            for (std::size_t i = 0; i < bytes.size(); ++i) add(bytes[i], at + i, at + i + 1);
        else known = false;
        if (!known && unknown_) {
            if (after_unknown && options_.fuse_unknown) symbols.back().end = static_cast<std::uint32_t>(end);
            else add(*unknown_, at, end);
        }
        after_unknown = !known && unknown_;
        at = end;
    }
    return symbols;
}

template <class BeforeJoin>
void Bpe::join_pairs(std::vector<Symbol>& symbols, BeforeJoin&& before_join) const {
    struct Candidate {
        std::int32_t rank, place, id;
        bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : place > other.place; }
    };
    std::vector<Candidate> storage;
    storage.reserve(symbols.size());
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue(std::greater<>(), std::move(storage));
    const auto offer = [&](std::int32_t left) {
        if (left < 0) return;
        const Symbol& symbol = symbols[static_cast<std::size_t>(left)];
        if (symbol.next < 0 || symbol.kept) return;
        const Symbol& right = symbols[static_cast<std::size_t>(symbol.next)];
        if (right.kept) return;
        if (const Join* join = join_of(symbol.id, right.id)) queue.push({join->rank, left, join->id});
    };
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) offer(static_cast<std::int32_t>(i));
    while (!queue.empty()) {
        const Candidate best = queue.top();
        queue.pop();
        Symbol& left = symbols[static_cast<std::size_t>(best.place)];
        if (left.begin == left.end || left.next < 0) continue;
        Symbol& right = symbols[static_cast<std::size_t>(left.next)];
        // The entry is stale if the pair has changed since it was queued.
        const Join* join = join_of(left.id, right.id);
        if (join == nullptr || join->id != best.id || join->rank != best.rank) continue;
        before_join(best.place);
        left.id = join->id;
        left.end = right.end;
        left.next = right.next;
        right.begin = right.end;
        if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = best.place;
        offer(left.previous);
        offer(best.place);
    }
}

void Bpe::encode(std::string_view word, std::vector<WordToken>& out) const {
    if (options_.whole_words_first)
        if (const auto id = vocabulary_.find(word)) {
            out.push_back({*id, 0, static_cast<std::uint32_t>(word.size())});
            return;
        }
    std::vector<Symbol> symbols = characters_of(word);
    join_pairs(symbols, [](std::int32_t) {});
    for (const Symbol& symbol : symbols) {
        if (symbol.begin == symbol.end) continue;
        if (is_letter(symbol)) append_letter(word, symbol, out);
        else if (unknown_ == symbol.id) append_unknown(symbol.begin, symbol.end, out);
        else out.push_back({symbol.id, symbol.begin, symbol.end});
    }
}

std::optional<WordTrace::Pair> Bpe::pair_at(const std::vector<Symbol>& symbols, std::int32_t place) const {
    const Symbol& left = symbols[static_cast<std::size_t>(place)];
    if (left.begin == left.end || left.next < 0) return std::nullopt;
    const Symbol& right = symbols[static_cast<std::size_t>(left.next)];
    const Join* join = left.kept || right.kept ? nullptr : join_of(left.id, right.id);
    if (join == nullptr) return std::nullopt;
    return WordTrace::Pair{left.begin, left.end, right.end, join->rank, join->id};
}

WordTrace Bpe::trace(std::string_view word) const {
    WordTrace trace;
    encode(word, trace.tokens);
    trace.taken_whole = options_.whole_words_first && vocabulary_.find(word).has_value();
    if (trace.taken_whole) return trace;
    std::vector<Symbol> symbols = characters_of(word);
    for (const Symbol& symbol : symbols) trace.parts.push_back({is_letter(symbol) ? -1 : symbol.id, symbol.begin, symbol.end});
    join_pairs(symbols, [&](std::int32_t place) {
        WordTrace::Join& join = trace.joins.emplace_back(WordTrace::Join{*pair_at(symbols, place), {}});
        if (trace.parts.size() > WordTrace::kLongestWithPairs) return;
        for (std::size_t i = 0; i < symbols.size(); ++i)
            if (const auto pair = pair_at(symbols, static_cast<std::int32_t>(i))) join.pairs.push_back(*pair);
    });
    return trace;
}

std::vector<BpeJoin> joins_of_pieces(const Vocabulary& vocabulary, const std::vector<std::optional<std::int32_t>>& ranks,
                                     const std::vector<std::string>& letters) {
    std::map<std::string_view, std::int32_t> ids_of_letters;
    for (const std::string& letter : letters)
        ids_of_letters.emplace(letter, static_cast<std::int32_t>(vocabulary.size() + static_cast<std::int64_t>(ids_of_letters.size())));
    const auto find = [&](std::string_view text) {
        const std::optional<std::int32_t> id = vocabulary.find(text);
        const auto letter = id ? ids_of_letters.end() : ids_of_letters.find(text);
        return letter == ids_of_letters.end() ? id : letter->second;
    };
    constexpr std::size_t kLongest = 1024, kMostWork = std::size_t{1} << 28;
    std::size_t work = 0;  // bytes hashed; published vocabularies need a tenth of the limit
    std::vector<BpeJoin> joins;
    for (std::size_t id = 0; id < ranks.size(); ++id) {
        const std::string* const text = vocabulary.text(static_cast<std::int64_t>(id));
        if (!ranks[id] || text == nullptr) continue;
        const std::string_view whole = *text;
        if (whole.size() > kLongest)
            throw ConfigError(fmt::format("the token with the id {} has {} bytes; at most {} can be joined", id, whole.size(), kLongest));
        work += whole.size() * whole.size();
        if (work > kMostWork) throw ConfigError("too many of the tokens are too long to be joined from pairs");
        for (std::size_t cut = 1; cut < whole.size(); ++cut) {
            if ((static_cast<unsigned char>(whole[cut]) & 0xC0U) == 0x80) continue;
            const auto left = find(whole.substr(0, cut));
            if (!left) continue;
            if (const auto right = find(whole.substr(cut))) joins.push_back({*left, *right, static_cast<std::int32_t>(id), *ranks[id]});
        }
    }
    return joins;
}

namespace {

/// A merge, written as "a b" or ["a", "b"].
Bpe::Merge read_merge(const JsonObject& json, const Json& item, std::size_t rank) {
    if (item.is_list() && item.size() == 2 && item.items()[0].is_string() && item.items()[1].is_string())
        return {item.items()[0].text(), item.items()[1].text()};
    if (item.is_string()) {
        const std::string& text = item.text();
        const std::size_t space = text.find(' ', 1);
        if (!text.empty() && space != std::string::npos && text.find(' ', space + 1) == std::string::npos)
            return {text.substr(0, space), text.substr(space + 1)};
    }
    json.fail("merges", fmt::format("entry {} is not a pair of tokens", rank), FileFault::Format);
}

}  // namespace

std::unique_ptr<TokenModel> read_bpe(JsonObject& json) {
    BpeOptions options;
    json.read("unk_token", options.unknown);
    json.read("continuing_subword_prefix", options.continuing_prefix);
    json.read("end_of_word_suffix", options.suffix);
    json.read("fuse_unk", options.fuse_unknown);
    json.read("byte_fallback", options.byte_fallback);
    json.read("ignore_merges", options.whole_words_first);
    double dropout = 0;
    json.read("dropout", dropout, 0, 1);
    if (dropout > 0) json.fail("dropout", "merges left out at random would give different tokens each time", FileFault::Unsupported);
    Vocabulary vocabulary = read_vocabulary(json, "vocab");
    std::vector<Bpe::Merge> merges;
    if (const Json* list = json.value("merges")) {
        if (!list->is_list()) json.fail("merges", "expected a list", FileFault::Format);
        merges.reserve(list->size());
        for (const Json& item : list->items()) merges.push_back(read_merge(json, item, merges.size()));
    }
    return at_field(json, "merges", [&] { return std::make_unique<Bpe>(std::move(vocabulary), merges, options); });
}

}  // namespace attn
