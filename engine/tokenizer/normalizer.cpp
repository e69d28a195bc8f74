#include "engine/tokenizer/normalizer.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

#include "engine/tensor/error.hpp"
#include "engine/tokenizer/byte_alphabet.hpp"
#include "engine/tokenizer/character_class.hpp"
#include "engine/tokenizer/component_json.hpp"
#include "engine/tokenizer/normal_form.hpp"
#include "engine/tokenizer/precompiled_map.hpp"

namespace attn {
namespace {

using ApplyNormalizer = std::function<AlignedText(const AlignedText&, SearchWork&)>;

/// A normalizer without regular expressions.
ApplyNormalizer plain(std::function<AlignedText(const AlignedText&)> change) {
    return [change = std::move(change)](const AlignedText& text, SearchWork&) { return change(text); };
}

/// Builds a text by calling use(character, origin, out) for every character.
template <class Use>
AlignedText each(const AlignedText& text, Use&& use) {
    AlignedText out;
    out.text.reserve(text.text.size());
    out.origins.reserve(text.text.size());
    each_character(text.text, [&](char32_t c, std::size_t begin, std::size_t) { use(c, text.origins[begin], out); });
    return out;
}

template <class Keep>
AlignedText only(const AlignedText& text, Keep&& keep) {
    return each(text, [&](char32_t c, Origin origin, AlignedText& out) {
        if (keep(c)) out.append(c, origin);
    });
}

AlignedText lowercase(const AlignedText& text) {
    return each(text, [](char32_t c, Origin origin, AlignedText& out) {
        constexpr char32_t kDottedI = 0x130, kDotAbove = 0x307;  // the only character whose lower case is two characters
        out.append(c == kDottedI ? U'i' : lower_case(c), origin);
        if (c == kDottedI) out.append(kDotAbove, origin);
    });
}

/// SentencePiece's rule "nmt": removes control characters and turns all kinds of space into " ".
AlignedText nmt(const AlignedText& text) {
    const auto dropped = [](char32_t c) {
        return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
    };
    const auto space = [](char32_t c) {
        return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
               c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    };
    return each(text, [&](char32_t c, Origin origin, AlignedText& out) {
        if (!dropped(c)) out.append(space(c) ? U' ' : c, origin);
    });
}

AlignedText bytes_as_letters(const AlignedText& text) {
    AlignedText out;
    for (std::size_t i = 0; i < text.text.size(); ++i) out.append(byte_letter(static_cast<unsigned char>(text.text[i])), text.origins[i]);
    return out;
}

/// A replacement gets the origin of the last character before its end.
AlignedText replaced(const AlignedText& text, const TextPattern& pattern, std::string_view by, SearchWork& work) {
    AlignedText out;
    std::size_t at = 0;
    for (const Match& match : pattern.matches(text.text, work)) {
        out.append(text, at, match.begin);
        const Origin first{text.origins.front().begin, text.origins.front().begin};
        expect_no_flood(out.text.size() + by.size(), text.text.size());
        out.append(by, match.end > 0 ? text.origins[match.end - 1] : first);
        at = match.end;
    }
    out.append(text, at, text.text.size());
    return out;
}

AlignedText stripped(const AlignedText& text, bool left, bool right) {
    if (!left && !right) return text;
    std::size_t begin = text.text.size(), end = 0;
    each_character(text.text, [&](char32_t c, std::size_t first, std::size_t last) {
        if (is_white_space(c)) return;
        begin = std::min(begin, first);
        end = last;
    });
    AlignedText out;
    if (end > 0) out.append(text, left ? begin : 0, right ? end : text.text.size());
    return out;
}

AlignedText bert_cleaned(const AlignedText& text) {
    return each(text, [](char32_t c, Origin origin, AlignedText& out) {
        const bool space = is_white_space(c);
        const bool control = is_other(c) && c != '\t' && c != '\n' && c != '\r';
        if (c != 0 && c != 0xFFFD && !control) out.append(space ? U' ' : c, origin);
    });
}

AlignedText spaced_ideographs(const AlignedText& text) {
    return each(text, [](char32_t c, Origin origin, AlignedText& out) {
        if (!is_cjk_ideograph(c)) return out.append(c, origin);
        out.append(U' ', origin);
        out.append(c, origin);
        out.append(U' ', origin);
    });
}

AlignedText bert_normalized(AlignedText text, const BertForm& form) {
    if (form.clean) text = bert_cleaned(text);
    if (form.chinese) text = spaced_ideographs(text);
    if (form.accents) text = only(normal_form(text, NormalForm::D), [](char32_t c) { return !is_nonspacing_mark(c); });
    if (form.lower) text = lowercase(text);
    return text;
}

ApplyNormalizer read_bert_normalizer(JsonObject& json) {
    BertForm form;
    json.read("clean_text", form.clean);
    json.read("handle_chinese_chars", form.chinese);
    json.read("lowercase", form.lower);
    if (!json.read("strip_accents", form.accents)) form.accents = form.lower;
    return bert_normalizer(form).apply;
}

ApplyNormalizer read_precompiled(JsonObject& json) {
    const std::optional<std::string> bytes = from_base64(required_text(json, "precompiled_charsmap"));
    if (!bytes) json.fail("precompiled_charsmap", "is not Base64", FileFault::Format);
    return at_field(json, "precompiled_charsmap", [&] { return precompiled(*bytes).apply; });
}

ApplyNormalizer read_normalizer_of(const std::string& type, JsonObject& json) {
    const auto form = [](NormalForm to) { return plain([to](const AlignedText& text) { return normal_form(text, to); }); };
    if (type == "NFC") return form(NormalForm::C);
    if (type == "NFD") return form(NormalForm::D);
    if (type == "NFKC") return form(NormalForm::KC);
    if (type == "NFKD") return form(NormalForm::KD);
    if (type == "Lowercase") return plain(lowercase);
    if (type == "StripAccents") return plain([](const AlignedText& text) { return only(text, [](char32_t c) { return !is_mark(c); }); });
    if (type == "Nmt") return plain(nmt);
    if (type == "ByteLevel") return plain(bytes_as_letters);
    if (type == "BertNormalizer") return read_bert_normalizer(json);
    if (type == "Precompiled") return read_precompiled(json);
    if (type == "Prepend")
        return plain([front = required_text(json, "prepend")](const AlignedText& text) { return with_front(text, front); });
    if (type == "Replace") {
        std::string content = required_text(json, "content");
        return replace_matches(read_pattern(json), std::move(content)).apply;
    }
    if (type == "Strip") {
        bool left = true, right = true;
        json.read("strip_left", left);
        json.read("strip_right", right);
        return strip_space(left, right).apply;
    }
    refuse_type(json, "normalizer", type);
}

}  // namespace

Normalizer bert_normalizer(BertForm form) {
    return {"BertNormalizer", plain([form](const AlignedText& text) { return bert_normalized(text, form); })};
}

Normalizer nfc() {
    return {"NFC", plain([](const AlignedText& text) { return normal_form(text, NormalForm::C); })};
}

Normalizer replace_matches(TextPattern pattern, std::string by) {
    return {"Replace", [pattern = std::move(pattern), by = std::move(by)](const AlignedText& text, SearchWork& work) {
                return replaced(text, pattern, by, work);
            }};
}

Normalizer strip_space(bool left, bool right) {
    return {"Strip", plain([left, right](const AlignedText& text) { return stripped(text, left, right); })};
}

Normalizer precompiled(std::string character_map) {
    return {"Precompiled", plain([map = std::make_shared<const PrecompiledMap>(std::move(character_map))](const AlignedText& text) {
                return map->apply(text);
            })};
}

std::vector<Normalizer> read_normalizers(JsonObject component) {
    static const std::array<ImpliedType, 6> kByFields = {{{"BertNormalizer", {"clean_text", "handle_chinese_chars", "lowercase"}},
                                                          {"Strip", {"strip_left", "strip_right"}},
                                                          {"Sequence", {"normalizers"}},
                                                          {"Precompiled", {"precompiled_charsmap"}},
                                                          {"Replace", {"pattern", "content"}},
                                                          {"Prepend", {"prepend"}}}};
    return read_steps<Normalizer>(std::move(component), "normalizers", kByFields, [](const std::string& type, JsonObject& json) {
        return Normalizer{type, read_normalizer_of(type, json)};
    });
}

void expect_no_flood(std::size_t bytes, std::size_t of) {
    constexpr std::size_t kSpare = std::size_t{1} << 16U, kMostGrowth = 16;
    if (bytes > kSpare + kMostGrowth * of)
        throw ConfigError(fmt::format("the tokenizer's normalizer makes more than {} bytes of {}: it was given up", bytes - 1, of));
}

AlignedText normalized(const std::vector<Normalizer>& steps, AlignedText text) {
    SearchWork searches;
    const std::size_t typed = text.text.size();
    for (const Normalizer& step : steps) {
        text = step.apply(text, searches);
        expect_no_flood(text.text.size(), typed);
    }
    return text;
}

AlignedText with_front(const AlignedText& text, std::string_view front) {
    if (text.text.empty()) return text;
    AlignedText out;
    out.append(front, text.origins.front());
    out.append(text, 0, text.text.size());
    return out;
}

}  // namespace attn
