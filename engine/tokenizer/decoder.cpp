#include "engine/tokenizer/decoder.hpp"

#include <array>
#include <utility>

#include "engine/tokenizer/aligned_text.hpp"
#include "engine/tokenizer/byte_alphabet.hpp"
#include "engine/tokenizer/component_json.hpp"

namespace attn {
namespace {

using Texts = std::vector<std::string>;
using ApplyDecoder = std::function<Texts(Texts)>;

constexpr std::string_view kReplacementText = "\uFFFD";

void replace_all(std::string& text, std::string_view what, std::string_view by) {
    if (what.empty()) return;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) text.replace(at, what.size(), by);
}

/// Removes spaces before English punctuation and contractions.
void clean_up(std::string& text) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kRules = {{{" .", "."},
                                                                                              {" ?", "?"},
                                                                                              {" !", "!"},
                                                                                              {" ,", ","},
                                                                                              {" ' ", "'"},
                                                                                              {" n't", "n't"},
                                                                                              {" 'm", "'m"},
                                                                                              {" do not", " don't"},
                                                                                              {" 's", "'s"},
                                                                                              {" 've", "'ve"},
                                                                                              {" 're", "'re"}}};
    for (const auto& [what, by] : kRules) replace_all(text, what, by);
}

Texts byte_level_texts(Texts tokens) {
    std::string bytes;
    for (const std::string& token : tokens) bytes += bytes_of_letters(token).value_or(token);
    return {with_replacements(bytes)};
}

}  // namespace

int named_byte(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return -1;
    const auto digit = [](char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    const int high = digit(token[3]), low = digit(token[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

namespace {

Texts byte_fallback(Texts tokens) {
    Texts out;
    std::string bytes;
    const auto flush = [&] {
        if (!find_invalid_utf8(bytes)) {
            if (!bytes.empty()) out.push_back(bytes);
        } else {
            out.insert(out.end(), bytes.size(), std::string(kReplacementText));
        }
        bytes.clear();
    };
    for (std::string& token : tokens) {
        if (const int byte = named_byte(token); byte >= 0) {
            bytes += static_cast<char>(byte);
            continue;
        }
        flush();
        out.push_back(std::move(token));
    }
    flush();
    return out;
}

ApplyDecoder word_piece(const std::string& prefix, bool cleanup) {
    return [prefix, cleanup](Texts tokens) {
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if (i > 0) {
                if (tokens[i].starts_with(prefix)) tokens[i].erase(0, prefix.size());
                else tokens[i].insert(0, " ");
            }
            if (cleanup) clean_up(tokens[i]);
        }
        return tokens;
    };
}

ApplyDecoder marks_to_spaces(const std::string& mark, bool drop_first) {
    return [mark, drop_first](Texts tokens) {
        for (std::size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], mark, i == 0 && drop_first ? "" : " ");
        return tokens;
    };
}

ApplyDecoder read_metaspace_decoder(JsonObject& json) {
    std::string mark = "\u2581", scheme = "always", unused;
    bool add_prefix_space = true, split = true;
    json.read("replacement", mark);
    json.read("str_rep", unused);
    json.read("split", split);
    json.read("add_prefix_space", add_prefix_space);
    if (!json.read("prepend_scheme", scheme) && !add_prefix_space) scheme = "never";
    return marks_to_spaces(mark, scheme != "never");
}

ApplyDecoder strip(const std::string& content, std::int64_t start, std::int64_t stop) {
    return [content, start, stop](Texts tokens) {
        for (std::string& token : tokens) {
            for (std::int64_t i = 0; i < start && !content.empty() && token.starts_with(content); ++i) token.erase(0, content.size());
            for (std::int64_t i = 0; i < stop && !content.empty() && token.ends_with(content); ++i)
                token.erase(token.size() - content.size());
        }
        return tokens;
    };
}

ApplyDecoder read_ctc(JsonObject& json) {
    std::string pad = "<pad>", delimiter = "|";
    bool cleanup = true;
    json.read("pad_token", pad);
    json.read("word_delimiter_token", delimiter);
    json.read("cleanup", cleanup);
    return [=](Texts tokens) {
        Texts out;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if (i > 0 && tokens[i] == tokens[i - 1]) continue;
            std::string text = tokens[i];
            replace_all(text, pad, "");
            if (cleanup) {
                clean_up(text);
                replace_all(text, delimiter, " ");
            }
            if (!text.empty()) out.push_back(std::move(text));
        }
        return out;
    };
}

ApplyDecoder replace(TextPattern what, const std::string& content) {
    return [pattern = std::move(what), content](Texts tokens) {
        SearchWork work;
        for (std::string& token : tokens) {
            std::string out;
            std::size_t at = 0;
            for (const Match& match : pattern.matches(token, work)) {
                out += token.substr(at, match.begin - at) + content;
                at = match.end;
            }
            token = out + token.substr(at);
        }
        return tokens;
    };
}

ApplyDecoder read_bpe_decoder(JsonObject& json) {
    std::string suffix = "</w>";
    json.read("suffix", suffix);
    return [suffix](Texts tokens) {
        for (std::size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], suffix, i + 1 == tokens.size() ? "" : " ");
        return tokens;
    };
}

Texts fused(Texts tokens) {
    std::string all;
    for (const std::string& token : tokens) all += token;
    return {all};
}

ApplyDecoder read_word_piece_decoder(JsonObject& json) {
    std::string prefix = "##";
    bool cleanup = true;
    json.read("prefix", prefix);
    json.read("cleanup", cleanup);
    return word_piece(prefix, cleanup);
}

ApplyDecoder read_strip(JsonObject& json) {
    const std::string content = required_text(json, "content");
    std::int64_t start = 0, stop = 0;
    json.read("start", start, 0, 1 << 20);
    json.read("stop", stop, 0, 1 << 20);
    return strip(content, start, stop);
}

ApplyDecoder read_decoder_of(const std::string& type, JsonObject& json) {
    if (type == "ByteLevel") {
        bool unused = false;  // settings of the pre-tokenizer of the same name; they do not affect decoding
        for (const char* field : {"add_prefix_space", "trim_offsets", "use_regex"}) json.read(field, unused);
        return byte_level_texts;
    }
    if (type == "WordPiece") return read_word_piece_decoder(json);
    if (type == "Metaspace") return read_metaspace_decoder(json);
    if (type == "BPEDecoder") return read_bpe_decoder(json);
    if (type == "Replace") return replace(read_pattern(json), required_text(json, "content"));
    if (type == "ByteFallback") return byte_fallback;
    if (type == "Fuse") return fused;
    if (type == "Strip") return read_strip(json);
    if (type == "CTC") return read_ctc(json);
    refuse_type(json, "decoder", type);
}

/// Length of the longest valid beginning of a character, at least 1: what a single U+FFFD replaces.
std::size_t broken_bytes(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4) return 1;
    for (std::size_t i = 1; i < length && i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        unsigned low = 0x80, high = 0xBF;
        if (i == 1) {
            if (lead == 0xE0) low = 0xA0;
            if (lead == 0xED) high = 0x9F;
            if (lead == 0xF0) low = 0x90;
            if (lead == 0xF4) high = 0x8F;
        }
        if (byte < low || byte > high) return i;
    }
    return std::min(length, text.size());
}

}  // namespace

std::vector<Decoder> read_decoders(JsonObject component) {
    static const std::array<ImpliedType, 5> kByFields = {{{"WordPiece", {"prefix", "cleanup"}},
                                                          {"BPEDecoder", {"suffix"}},
                                                          {"CTC", {"pad_token", "word_delimiter_token", "cleanup"}},
                                                          {"Strip", {"content", "start", "stop"}},
                                                          {"Replace", {"pattern", "content"}}}};
    return read_steps<Decoder>(std::move(component), "decoders", kByFields, [](const std::string& type, JsonObject& json) {
        return Decoder{type, read_decoder_of(type, json)};
    });
}

Decoder metaspace_decoder(bool drop_first_space) { return {"Metaspace", marks_to_spaces("\u2581", drop_first_space)}; }

Decoder word_piece_decoder() { return {"WordPiece", word_piece("##", true)}; }

std::vector<Decoder> sentence_piece_decoders(bool drop_first_space) {
    std::vector<Decoder> steps{{"Replace", replace(TextPattern::literal("\u2581"), " ")}, {"ByteFallback", byte_fallback}, {"Fuse", fused}};
    if (drop_first_space) steps.push_back({"Strip", strip(" ", 1, 0)});
    return steps;
}

Decoder byte_level_decoder() { return {"ByteLevel", byte_level_texts}; }

std::string with_replacements(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size());
    for (std::size_t at = 0; at < bytes.size();) {
        const Utf8Unit unit = first_utf8(bytes.substr(at));
        const std::size_t length = unit.valid ? unit.bytes : broken_bytes(bytes.substr(at));
        out += unit.valid ? bytes.substr(at, length) : kReplacementText;
        at += length;
    }
    return out;
}

}  // namespace attn
