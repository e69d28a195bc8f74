#include "app/session/values/other_tokens.hpp"

#include <algorithm>
#include <utility>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/states/state.hpp"
#include "app/session/values/snapshot.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tokenizer/compare_tokens.hpp"
#include "engine/tokenizer/model_tokenizer.hpp"
#include "engine/tokenizer/tokenizer_files.hpp"

namespace attn::app {
namespace {

/// The number of characters that begin before a byte of the text.
float column_of(std::string_view text, std::size_t byte) {
    float column = 0;
    for (std::size_t at = 0; at < std::min(byte, text.size()); ++column) at += first_utf8(text.substr(at)).bytes;
    return column;
}

/// The typed bytes [begin, end) of a token without white space at its ends.
struct Covered {
    std::size_t begin = 0, end = 0;
    std::int32_t place = 0;
    bool operator==(const Covered& other) const { return begin == other.begin && end == other.end; }
};

/// For the tokens of an encoding that cover more than white space; in order.
std::vector<Covered> covered_by(std::string_view text, const Encoding& encoding) {
    constexpr std::string_view kSpaces = " \t\n\r\v\f";
    std::vector<Covered> all;
    for (std::size_t i = 0; i < encoding.size(); ++i) {
        const std::string_view typed = text.substr(encoding[i].begin, encoding[i].end - encoding[i].begin);
        const std::size_t first = typed.find_first_not_of(kSpaces);
        if (encoding[i].from_template || first == std::string_view::npos) continue;
        all.push_back({encoding[i].begin + first, encoding[i].begin + typed.find_last_not_of(kSpaces) + 1, static_cast<std::int32_t>(i)});
    }
    return all;
}

/// How many tokens from the i-th on cover the same as it: the parts of one character.
std::size_t run_of(const std::vector<Covered>& all, std::size_t i) {
    std::size_t end = i + 1;
    while (end < all.size() && all[end] == all[i]) ++end;
    return end - i;
}

/// For each token of `theirs` the one of `ours` that covers the same characters; -1 for none.
std::vector<std::int32_t> twins_of(std::string_view text, const Encoding& ours, const Encoding& theirs) {
    const std::vector<Covered> a = covered_by(text, ours), b = covered_by(text, theirs);
    std::vector<std::int32_t> twins(theirs.size(), -1);
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        if (a[i] == b[j]) {
            const std::size_t count_a = run_of(a, i), count_b = run_of(b, j);
            for (std::size_t k = 0; count_a == count_b && k < count_a; ++k)
                twins[static_cast<std::size_t>(b[j + k].place)] = a[i + k].place;
            i += count_a;
            j += count_b;
        } else if (a[i].end < b[j].end || (a[i].end == b[j].end && a[i].begin < b[j].begin)) {
            ++i;
        } else {
            ++j;
        }
    }
    return twins;
}

/// The columns of the pieces that reach into [first, last), from place `from` on.
OtherTokens::Span span_of(const TokenPath& path, std::size_t from, float first, float last) {
    constexpr float kHair = 1e-3F;
    OtherTokens::Span span{first, first};
    bool any = false;
    for (std::size_t i = from; i < path.pieces.size(); ++i) {
        const TokenPath::Piece& piece = path.pieces[i];
        if (piece.word < 0 || piece.last <= first + kHair || piece.first >= last - kHair) continue;
        span = any ? OtherTokens::Span{std::min(span.first, piece.first), std::max(span.last, piece.last)}
                   : OtherTokens::Span{piece.first, piece.last};
        any = true;
    }
    return span;
}

/// `shift`: own pieces before the encoding, a decoder's start token.
OtherTokens::Difference difference_in(std::string_view text, const TokenDifference& found, const TokenPath& own, const TokenPath& other,
                                      std::size_t shift) {
    OtherTokens::Difference out;
    out.first = column_of(text, found.begin);
    out.last = column_of(text, found.end);
    out.text = text.substr(found.begin, found.end - found.begin);
    out.own = found.a + shift;
    out.other = found.b;
    out.count_own = found.count_a;
    out.count_other = found.count_b;
    out.own_pieces = span_of(own, out.own, out.first, out.last);
    out.other_pieces = span_of(other, out.other, out.first, out.last);
    return out;
}

void count_alike(OtherTokens& out, const ModelTokenizer& own, const Encoding& ours) {
    for (std::size_t i = 0; i < out.twins.size(); ++i) {
        if (out.twins[i] < 0) continue;
        const std::int32_t id = ours[static_cast<std::size_t>(out.twins[i])].id;
        if (!spelled_alike(own.token_bytes(id), out.tokens[i].text)) {
            ++out.respelled;
            continue;
        }
        ++out.alike;
        if (id != out.tokens[i].id) ++out.of_other_ids;
    }
}

}  // namespace

OtherTokens other_tokens(const Setup& setup, const TextOfState& which, KeptTokenizer& kept, const ModelTokenizer& other, std::string name) {
    const auto [text, reader] = text_of(setup, which);
    const bool special = reader == Reader::Model;
    const std::shared_ptr<const ModelTokenizer> own = path_tokenizer(setup, kept);
    OtherTokens out;
    out.name = std::move(name);
    out.path = token_path(other, text, special);
    const Encoding ours = own->encode(text, special), theirs = other.encode(text, special);
    const std::optional<std::int32_t> unknown = other.unknown_id();
    for (const EncodedToken& token : theirs)
        out.tokens.push_back({other.token_bytes(token.id), token.id, false, unknown && token.id == *unknown});
    out.twins = twins_of(text, ours, theirs);
    count_alike(out, *own, ours);
    const std::size_t shift = special ? 0 : 1;  // a decoder's own pieces follow its start token
    for (std::int32_t& twin : out.twins)
        if (twin >= 0) twin += static_cast<std::int32_t>(shift);
    if (const std::optional<TokenDifference> found = first_difference(text, ours, theirs))
        out.difference = difference_in(text, *found, token_path(setup, which, kept), out.path, shift);
    return out;
}

namespace {

/// The last one is kept, because the text changes more often than the file.
const ModelTokenizer& tokenizer_of(const facet::OtherTokens& wanted, KeptByLane& kept) {
    const std::optional<facet::OtherTokens>& before = kept.read_for;
    if (kept.other_tokenizer == nullptr || before->file != wanted.file || before->opening != wanted.opening) {
        kept.other_tokenizer = nullptr;
        kept.other_tokenizer = read_tokenizer(wanted.file);
        kept.read_for = wanted;
    }
    return *kept.other_tokenizer;
}

}  // namespace

Job<OtherTokens> facet::OtherTokens::make(const OtherTokens& wanted, Ask& ask) {
    ask(Trace{});  // as for the state's own path
    return [wanted, state = ask.state()](const Work& work) {
        const ModelTokenizer& other = tokenizer_of(wanted, work.kept);
        const std::filesystem::path path = wanted.file;
        const bool by_itself = path.filename() == "tokenizer.json" || path.filename() == "vocab.txt";
        const std::string named = by_itself ? model_name(path.parent_path()) + "/" + path.filename().string() : model_name(path);
        return other_tokens(*state->setup, wanted.text, work.kept.tokenizer, other, named);
    };
}

}  // namespace attn::app
