/// attnscope tokenize: splits texts with the tokenizer of a published model, a training run or an example.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/commands.hpp"
#include "app/cli/complaint.hpp"
#include "app/cli/document_options.hpp"
#include "app/cli/piped_file.hpp"
#include "app/cli/terminal_text.hpp"
#include "app/cli/text_tokenizer.hpp"
#include "app/cli/tokenize_steps.hpp"
#include "app/session/states/shipped_model.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/json.hpp"
#include "engine/io/utf8.hpp"
#include "engine/tensor/error.hpp"
#include "engine/tokenizer/compare_tokens.hpp"

namespace attn::app {
namespace {

struct TokenizeOptions {
    std::vector<std::filesystem::path> models, runs;
    std::vector<std::string> presets;
    std::filesystem::path texts_file;
    std::vector<std::string> texts;
    std::string pair;
    bool no_special = false, steps = false, json = false;
};

/// Reads a JSON list of strings.
std::vector<std::string> read_text_list(const std::filesystem::path& path) {
    const std::string source = piped_name(path);
    const Json list = Json::parse(read_piped_file(path, kMaxTextBytes), source, {.bytes = kMaxTextBytes, .values = kMaxTextBytes});
    const auto refuse = [&](const std::string& place) { return FileError(FileFault::Format, source, place, "expected a list of strings"); };
    if (!list.is_list()) throw refuse("/");
    std::vector<std::string> texts;
    for (const Json& item : list.items()) {
        if (!item.is_string()) throw refuse(fmt::format("/{}", texts.size()));
        texts.push_back(item.text());
    }
    return texts;
}

/// The number of code points before every byte of the text and before its end. An invalid byte counts as one.
std::vector<std::uint32_t> code_points_before(std::string_view text) {
    std::vector<std::uint32_t> before(text.size() + 1);
    std::uint32_t count = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t bytes = first_utf8(text.substr(at)).bytes;
        for (std::size_t i = 0; i < bytes; ++i) before[at + i] = count;
        ++count;
        at += bytes;
    }
    before[text.size()] = count;
    return before;
}

/// The end of bytes [begin, end) in code points. Bytes that are part of a character cover all of it.
std::uint32_t end_in_code_points(const std::vector<std::uint32_t>& before, std::size_t begin, std::size_t end) {
    return begin == end ? before[begin] : before[end - 1] + 1;
}

Json line_of(const Encoding& encoding, std::vector<std::string> texts, std::string_view first, std::string_view second) {
    const std::vector<std::uint32_t> in_first = code_points_before(first), in_second = code_points_before(second);
    Json::List ids, offsets, tokens(std::make_move_iterator(texts.begin()), std::make_move_iterator(texts.end()));
    for (const EncodedToken& token : encoding) {
        const std::vector<std::uint32_t>& before = token.of_second ? in_second : in_first;
        ids.emplace_back(token.id);
        offsets.emplace_back(Json::List{before[token.begin], end_in_code_points(before, token.begin, token.end)});
    }
    Json line = Json::object();
    line["ids"] = std::move(ids);
    line["tokens"] = std::move(tokens);
    line["offsets"] = std::move(offsets);
    return line;
}

Encoding encoding_of(const TextTokenizer& tokenizer, const std::string& text, bool special, std::vector<std::string>* texts = nullptr) {
    try {
        return tokenizer.text->encode(text, special, texts);
    } catch (const ConfigError& error) {
        if (tokenizer.text->pieces() != nullptr) throw;  // it names its file itself
        throw ConfigError(tokenizer.name + ": " + error.what());
    }
}

Json encoding_json(const TextTokenizer& tokenizer, const std::string& text, bool special) {
    std::vector<std::string> texts;
    const Encoding encoding = encoding_of(tokenizer, text, special, &texts);
    return line_of(encoding, std::move(texts), text, "");
}

/// Also says of every token to which segment and to which text it belongs; the template's own belong to none.
Json pair_json(const Encoding& encoding, std::vector<std::string> texts, std::string_view first, std::string_view second) {
    Json line = line_of(encoding, std::move(texts), first, second);
    Json::List types, sequences;
    for (const EncodedToken& token : encoding) {
        types.emplace_back(token.type);
        sequences.push_back(token.from_template ? Json() : Json(token.of_second ? 1 : 0));
    }
    line["type_ids"] = std::move(types);
    line["sequence_ids"] = std::move(sequences);
    return line;
}

void print_line(const Json& line) { fmt::print("{}\n", json_line(line)); }

std::string place_words(const EncodedToken& token, std::string_view text) {
    if (token.from_template) return "added by the template";
    return fmt::format("bytes {} to {}: \"{}\"", token.begin, token.end, escaped(text.substr(token.begin, token.end - token.begin)));
}

/// Which of the new words a token is, for models that read them.
std::string new_word(const TextTokenizer& tokenizer, const EncodedToken& token) {
    const std::int32_t place = tokenizer.text->place_of(token.id);
    return place > 0 ? fmt::format(", new word {}", place) : "";
}

std::string count_words(const Encoding& encoding) {
    return fmt::format("{} {}", encoding.size(), encoding.size() == 1 ? "token" : "tokens");
}

void print_token(const TextTokenizer& tokenizer, const EncodedToken& token, const std::string& place) {
    fmt::print("  {:>7}  {:<20} {}\n", token.id, escaped(tokenizer.text->spelling(token.id)), place);
}

void print_encoding_table(const TextTokenizer& tokenizer, const std::string& text, const Encoding& encoding) {
    fmt::print("\"{}\": {}\n", escaped(text), count_words(encoding));
    for (const EncodedToken& token : encoding) print_token(tokenizer, token, place_words(token, text) + new_word(tokenizer, token));
}

void print_pair_table(const TextTokenizer& tokenizer, const std::string& first, const std::string& second, const Encoding& encoding) {
    const bool segments = std::any_of(encoding.begin(), encoding.end(), [](const EncodedToken& token) { return token.type != 0; });
    fmt::print("\"{}\" and \"{}\": {}\n", escaped(first), escaped(second), count_words(encoding));
    for (const EncodedToken& token : encoding) {
        const std::string segment = segments ? fmt::format("segment {}, ", token.type) : "";
        const std::string which = token.from_template ? "" : token.of_second ? "second text, " : "first text, ";
        print_token(tokenizer, token, segment + which + place_words(token, token.of_second ? second : first));
    }
}

/// Throws Error for a tokenizer of characters, words or bytes, saying what it lacks.
const ModelTokenizer& pieces_of(const TextTokenizer& tokenizer, std::string_view lacks) {
    const TextModel& text = *tokenizer.text;
    if (text.pieces() == nullptr) throw Error(fmt::format("{}: its tokens are {}s, {}", tokenizer.name, text.conventions().token, lacks));
    return *text.pieces();
}

void print_pair(const TextTokenizer& tokenizer, const TokenizeOptions& options) {
    const std::string &first = options.texts.front(), &second = options.pair;
    std::vector<std::string> texts;
    const Encoding encoding = pieces_of(tokenizer, "which have no pairs").encode_pair(first, second, !options.no_special, texts);
    if (options.json) print_line(pair_json(encoding, std::move(texts), first, second));
    else print_pair_table(tokenizer, first, second, encoding);
}

void print_steps(const TextTokenizer& tokenizer, const std::string& text, const TokenizeOptions& options) {
    const ModelTokenizer& pieces = pieces_of(tokenizer, "found in one step: there is nothing for --steps to show");
    const TokenSteps steps = pieces.steps(text, !options.no_special);
    if (!options.json) return print_token_steps(pieces, text, steps);
    Json line = encoding_json(tokenizer, text, !options.no_special);
    add_token_steps(pieces, steps, line);
    print_line(line);
}

const std::string& bytes_of(const TextTokenizer& tokenizer, std::int32_t id) {
    return tokenizer.text->vocabulary().at(static_cast<std::size_t>(id));
}

/// Up to `count` pieces from `first` on, in quotes.
std::string quoted_pieces(const TextTokenizer& tokenizer, const Encoding& encoding, std::size_t first, std::size_t count) {
    std::string line;
    for (std::size_t i = first; i < std::min(first + count, encoding.size()); ++i)
        line += fmt::format("{}\"{}\"", line.empty() ? "" : " ", escaped(bytes_of(tokenizer, encoding[i].id), 0));
    return line.empty() ? "nothing" : line;
}

/// Prints both tokenizations and where they first differ.
void print_comparison(const std::vector<TextTokenizer>& both, const std::string& text, bool special) {
    const TextTokenizer &one = both[0], &other = both[1];
    const Encoding a = encoding_of(one, text, special), b = encoding_of(other, text, special);
    fmt::print("\"{}\"\n", escaped(text));
    const std::size_t width = std::max(one.name.size(), other.name.size());
    fmt::print("  {:<{}}  {:>4} {}  {}\n", one.name, width, a.size(), a.size() == 1 ? "token " : "tokens",
               quoted_pieces(one, a, 0, a.size()));
    fmt::print("  {:<{}}  {:>4} {}  {}\n", other.name, width, b.size(), b.size() == 1 ? "token " : "tokens",
               quoted_pieces(other, b, 0, b.size()));
    const std::optional<TokenDifference> found = first_difference(text, a, b);
    if (!found) {
        const auto pairs = equal_tokens(text, a, b);
        const auto respelled = std::count_if(pairs.begin(), pairs.end(), [&](const auto& pair) {
            return !spelled_alike(bytes_of(one, a[pair.first].id), bytes_of(other, b[pair.second].id));
        });
        if (respelled == 0) fmt::print("  both split it the same way");
        else fmt::print("  both split it at the same places, where {} of {} tokens are spelled differently", respelled, pairs.size());
        if (a.size() != b.size())
            fmt::print(", but {} adds {} more of its own", (a.size() > b.size() ? one : other).name,
                       a.size() > b.size() ? a.size() - b.size() : b.size() - a.size());
        return fmt::print("\n");
    }
    fmt::print("  first difference: bytes {} to {}, \"{}\": {} here, {} there\n", found->begin, found->end,
               escaped(text.substr(found->begin, found->end - found->begin)), quoted_pieces(one, a, found->a, found->count_a),
               quoted_pieces(other, b, found->b, found->count_b));
}

Json comparison_json(const std::vector<TextTokenizer>& both, const std::string& text, bool special) {
    Json line = Json::object();
    line["a"] = encoding_json(both[0], text, special);
    line["b"] = encoding_json(both[1], text, special);
    const auto found = first_difference(text, encoding_of(both[0], text, special), encoding_of(both[1], text, special));
    if (!found) return line;
    const std::vector<std::uint32_t> before = code_points_before(text);
    line["first_difference"] = {{"a", found->a},
                                {"b", found->b},
                                {"count_a", found->count_a},
                                {"count_b", found->count_b},
                                {"begin", before[found->begin]},
                                {"end", end_in_code_points(before, found->begin, found->end)}};
    return line;
}

/// One tokenizer, or two to compare.
std::vector<TextTokenizer> named_tokenizers(const TokenizeOptions& options) {
    const std::size_t count = options.models.size() + options.runs.size() + options.presets.size();
    if (count == 0) throw Error("say which tokenizer to use: --model DIR, --run DIR or --preset NAME");
    if (count > 2) throw Error(fmt::format("--model, --run, --preset: expected one tokenizer, or two to compare, found {}", count));
    if (count == 2 && options.steps) throw Error("--steps works with one tokenizer: give one --model, --run or --preset");
    std::vector<TextTokenizer> tokenizers;
    for (const std::filesystem::path& model : options.models) tokenizers.push_back(TextTokenizer::of_model(model));
    for (const std::filesystem::path& run : options.runs) tokenizers.push_back(TextTokenizer::of_run(run));
    for (const std::string& preset : options.presets) tokenizers.push_back(TextTokenizer::of_example(preset));
    return tokenizers;
}

/// The tokenizers with the words that this text brings along.
std::vector<TextTokenizer> reading(std::vector<TextTokenizer> tokenizers, const std::string& text) {
    for (TextTokenizer& tokenizer : tokenizers) tokenizer.text = TextModel::reading(tokenizer.text, {&text, 1});
    return tokenizers;
}

void tokenize(TokenizeOptions options) {
    if (!options.texts_file.empty())
        for (std::string& text : read_text_list(options.texts_file)) options.texts.push_back(std::move(text));
    else if (options.texts.empty()) throw Error("tokenize: expected a text, given by --text or --texts");
    const std::vector<TextTokenizer> tokenizers = named_tokenizers(options);
    for (const TextTokenizer& tokenizer : tokenizers)
        for (const std::string& note : tokenizer.text->conventions().notes) complain(note);
    if (!options.pair.empty()) {
        if (tokenizers.size() == 2 || options.steps || options.texts.size() != 1)
            throw Error("--pair is the second text of a pair: give it with one tokenizer and one --text, and without --steps");
        return print_pair(tokenizers.front(), options);
    }
    if (tokenizers.size() == 2) {
        for (const std::string& text : options.texts) {
            const std::vector<TextTokenizer> both = reading(tokenizers, text);
            if (options.json) print_line(comparison_json(both, text, !options.no_special));
            else print_comparison(both, text, !options.no_special);
        }
        return;
    }
    for (const std::string& text : options.texts) {
        const TextTokenizer tokenizer = reading(tokenizers, text).front();
        if (options.steps) print_steps(tokenizer, text, options);
        else if (options.json) print_line(encoding_json(tokenizer, text, !options.no_special));
        else print_encoding_table(tokenizer, text, encoding_of(tokenizer, text, !options.no_special));
    }
}

}  // namespace

void add_tokenize_command(CliCommand program, int&) {
    auto options = std::make_shared<TokenizeOptions>();
    CliCommand command = program.command("tokenize", "Split texts into tokens as a model's tokenizer does");
    command
        .option(
            "--model", options->models,
            "Folder with a tokenizer (tokenizer.json, vocab.json and merges.txt, tokenizer.model, sentencepiece.bpe.model, spiece.model, "
            "vocab.txt, NAME.tiktoken), such a file, or a GGUF file")
        .shown_as("DIR|FILE.gguf")
        .one_at_a_time();
    command.option("--run", options->runs, "Training run, whose tokenizer is used: its folder, or a checkpoint")
        .shown_as("DIR")
        .one_at_a_time();
    command.option("--preset", options->presets, with_names("Trained example, whose tokenizer is used", shipped_models()))
        .shown_as("NAME")
        .one_at_a_time()
        .suggest(shipped_models());
    command.option("--text", options->texts, "A text; may be given several times").shown_as("TEXT").one_at_a_time();
    command.option("--pair", options->pair, "The second text of a pair; --text is the first").shown_as("TEXT");
    command.option("--texts", options->texts_file, "A JSON file or pipe with a list of texts; -: standard input").shown_as("FILE.json|-");
    command.flag("--no-special", options->no_special, "Leave out the tokens that the template puts around a text");
    command.flag("--steps", options->steps, "Every step from the text to its tokens: stages, words, and each join with its rank");
    command.flag("--json", options->json,
                 "One line of JSON per text: ids, tokens, and offsets in code points; of a pair, type_ids and sequence_ids as well");
    command.footer("Examples:\n"
                   "  attnscope tokenize --model DIR --text \"The cat sat\" --text \"on the mat\"\n"
                   "  attnscope tokenize --model DIR --text \"The cat sat\" --pair \"on the mat\" --json\n"
                   "  attnscope tokenize --model DIR --text \"unhappily\" --steps\n"
                   "  attnscope tokenize --model DIR --model FILE.gguf --text \"unhappily\"\n"
                   "  attnscope tokenize --run runs/pieces --text \"The sea was calm\" --steps\n"
                   "  attnscope tokenize --model DIR --texts FILE.json --no-special --json\n"
                   "  attnscope tokenize --model DIR --texts - < FILE.json\n"
                   "Two tokenizers are shown side by side with the first piece that differs: first that of --model, then that of --run, "
                   "then that\nof --preset.\n");
    command.on_run([options] { tokenize(*options); });
}

}  // namespace attn::app
