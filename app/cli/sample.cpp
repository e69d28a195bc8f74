/// attnscope sample: generates text with a trained model.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "app/cli/commands.hpp"
#include "app/cli/document_options.hpp"
#include "app/cli/number_checks.hpp"
#include "app/cli/standard_output.hpp"
#include "app/cli/terminal_text.hpp"
#include "app/cli/trained_example.hpp"
#include "app/cli/training_options.hpp"
#include "app/session/files/readable_file.hpp"
#include "app/session/session.hpp"
#include "app/session/states/model_tokens.hpp"
#include "app/session/states/opened_model.hpp"
#include "engine/generate/generate.hpp"
#include "engine/grammar/toy_languages.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/hub_cache.hpp"
#include "engine/io/json.hpp"
#include "engine/io/utf8.hpp"
#include "engine/io/while_intact.hpp"
#include "engine/tasks/dataset.hpp"
#include "engine/train/checkpoint.hpp"
#include "engine/train/run_folder.hpp"

namespace attn::app {
namespace {

struct SampleOptions {
    // One of these names the model.
    std::filesystem::path model, document;
    std::string preset;

    std::string prompt, source;
    SamplingSettings sampling;
    bool json = false, ignore_end = false;
};

/// Converts between text and a model's tokens; uses numbers if the file has no vocabulary.
class ModelText {
public:
    explicit ModelText(const Checkpoint& checkpoint) {
        if (!checkpoint.vocabulary.empty())
            tokenizer_ = Tokenizer::from_vocabulary(checkpoint.tokenizer, checkpoint.vocabulary, checkpoint.special_tokens);
    }
    explicit ModelText(std::shared_ptr<const OpenedModel> model) : model_(std::move(model)) {}
    explicit ModelText(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

    /// `option`: where the text was given, for messages.
    std::vector<std::int32_t> ids(const std::string& text, const char* option) const {
        std::vector<std::int32_t> ids = model_ != nullptr ? encoded_for_model(text, Reader::Model)
                                        : tokenizer_      ? encoded(text)
                                                          : numbers(text, option);
        if (ids.empty()) throw Error(fmt::format("{}: expected at least one token, found none in \"{}\"", option, escaped(text)));
        return ids;
    }
    /// The default prompt: the start of an answer in the toy languages, otherwise nothing.
    std::string answer_begins() const { return model_ != nullptr ? "" : kAnswerBegins; }
    /// The decoder's prompt in an encoder-decoder; opened models prepend their start token.
    std::vector<std::int32_t> answer_ids(const std::string& text, const char* option) const {
        return model_ == nullptr ? ids(text, option) : encoded_for_model(text, Reader::Decoder);
    }
    /// A batch with one sequence, with segments if it is a pair of texts.
    TokenBatch batch(std::vector<std::int32_t> ids) const {
        const auto length = static_cast<std::int64_t>(ids.size());
        TokenBatch batch{length, std::move(ids), {length}};
        if (model_ != nullptr) batch.segments = segments_for(*model_, batch);
        return batch;
    }
    /// Whether the token is the mask token.
    bool hides(std::int32_t id) const { return text(id) == blank(); }
    /// The mask token as typed.
    std::string blank() const {
        const std::optional<AddedToken> mask = model_ == nullptr ? std::nullopt : mask_token(*model_);
        return mask ? mask->content : kBlank;
    }
    /// The tokens that end the answer to `source` (empty: that end a text). Opened models name them in their files; a translator of ours
    /// ends with the last token of its source.
    std::vector<std::int32_t> ends(const std::vector<std::int32_t>& source) const {
        if (model_ != nullptr) return model_->ends();
        return source.empty() ? std::vector<std::int32_t>() : std::vector{source.back()};
    }
    /// Whether it is an end token of an opened model, which is reported but not part of the text.
    bool tells_end(std::int32_t id) const { return model_ != nullptr && model_->is_end(id); }
    std::string text(std::int32_t id) const {
        if (model_ != nullptr) return model_->vocabulary().at(static_cast<std::size_t>(id));
        return tokenizer_ ? tokenizer_->vocabulary()[static_cast<std::size_t>(id)] : std::to_string(id);
    }
    /// The token's text at the start of a text, where some tokenizers' decoders drop the space before a word.
    std::string first_text(std::int32_t id) const {
        std::string first = text(id);
        if (model_ != nullptr && first.starts_with(' ') && !model_->tokenizer().decode({&id, 1}).starts_with(' ')) first.erase(0, 1);
        return first;
    }
    /// Throws FileError if the opened model's file became shorter, so that what was computed from it is worthless.
    void require_intact() const {
        if (model_ != nullptr) model_->require_intact();
    }
    /// Decodes a complete text.
    std::string whole(const std::vector<std::int32_t>& ids) const {
        std::string all;
        if (model_ != nullptr) return model_->tokenizer().decode(ids, true);
        for (const std::int32_t id : ids) all += (all.empty() ? "" : between()) + text(id);
        return all;
    }
    /// The separator between two tokens.
    const char* between() const {
        if (model_ != nullptr) return model_->reads_ids() ? " " : "";
        return tokenizer_ && tokenizer_->kind() != TokenizerKind::Word ? "" : " ";
    }

private:
    std::vector<std::int32_t> encoded(const std::string& prompt) const {
        std::vector<std::int32_t> ids;
        for (const TextToken& token : tokenizer_->encode(prompt)) ids.push_back(token.id);
        return ids;
    }
    std::vector<std::int32_t> encoded_for_model(const std::string& prompt, Reader reader) const {
        std::vector<std::int32_t> ids;
        for (const TextToken& token : tokens_for(*model_, prompt, reader)) ids.push_back(token.id);
        return ids;
    }
    static std::vector<std::int32_t> numbers(const std::string& prompt, const char* option) {
        std::vector<std::int32_t> ids;
        const char* at = prompt.data();
        const char* const end = at + prompt.size();
        while (true) {
            while (at != end && (*at == ' ' || *at == ',')) ++at;
            if (at == end) return ids;
            std::int32_t id = 0;
            const auto [rest, error] = std::from_chars(at, end, id);
            if (error != std::errc() || (rest != end && *rest != ' ' && *rest != ','))
                throw Error(fmt::format("{}: this model has no vocabulary: expected ids of tokens such as \"464 3290\", found \"{}\"",
                                        option, escaped(prompt)));
            ids.push_back(id);
            at = rest;
        }
    }

    std::optional<Tokenizer> tokenizer_;
    std::shared_ptr<const OpenedModel> model_;
};

/// Concatenates generated tokens. `begins`: they are a text of their own, not the continuation of one.
std::string joined(const ModelText& words, std::vector<std::int32_t> ids, bool ended, bool begins) {
    if (ended && words.tells_end(ids.back())) ids.pop_back();
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i)
        text += (i == 0 ? "" : words.between()) + (i == 0 && begins ? words.first_text(ids[i]) : words.text(ids[i]));
    return text;
}

/// The number of alternative candidates listed.
constexpr std::size_t kNamedCandidates = 10;

std::string_view name_of(Cut cut) {
    switch (cut) {
    case Cut::None:
        break;
    case Cut::TopK:
        return "top-k";
    case Cut::TopP:
        return "top-p";
    case Cut::MinP:
        return "min-p";
    case Cut::Temperature:
        return "temperature";
    }
    return "";
}

/// A token's id and text; its bytes, too, if they are not whole characters, since JSON cannot hold them as text.
Json token_json(const ModelText& words, std::int32_t id) {
    const std::string text = words.text(id);
    Json json{{"id", id}, {"text", text}};
    if (!find_invalid_utf8(text)) return json;
    Json bytes = Json::list();
    for (const char byte : text) bytes.push_back(static_cast<int>(static_cast<unsigned char>(byte)));
    json["bytes"] = std::move(bytes);
    return json;
}

Json to_json(const ModelText& words, const Candidate& candidate) {
    Json json = token_json(words, candidate.id);
    json["probability"] = candidate.predicted;
    json["chance"] = candidate.chance;
    if (candidate.cut != Cut::None) json["cut"] = std::string(name_of(candidate.cut));
    return json;
}

/// A token with its probability and the candidates that the sampler could have drawn instead.
Json to_json(const ModelText& words, const DrawnToken& drawn, const SamplingSettings& sampling) {
    const auto id = static_cast<std::size_t>(drawn.id);
    const Candidates candidates = candidates_of(drawn.logits, sampling, kNamedCandidates);
    Json named = Json::list();
    for (const Candidate& candidate : candidates.likeliest) named.push_back(to_json(words, candidate));
    Json json = token_json(words, drawn.id);
    json["probability"] = predicted_shares(drawn.logits)[id];
    json["chance"] = drawn.chances[id];
    json["kept"] = candidates.kept;
    json["candidates"] = std::move(named);
    return json;
}

void print_json(const SampleOptions& options, Json tokens, const std::string& text, std::optional<bool> ended = {}) {
    Json line{{"prompt", options.prompt}, {"text", text}, {"tokens", std::move(tokens)}};
    if (ended) line["ended"] = *ended;
    if (!options.source.empty()) line["source"] = options.source;
    // JSON must be UTF-8: incomplete characters appear as U+FFFD.
    fmt::print("{}\n", json_line(line));
}

/// A model with its forward settings and vocabulary.
struct TextWriter {
    std::shared_ptr<const Parameters<float>> parameters;
    ForwardSettings forward;
    ModelText words;
    std::vector<std::int32_t> written{};  ///< tokens that a document holds after the prompt
};

TextWriter open_writer(const std::filesystem::path& path) {
    if (OpenedModel::is_in(path)) {
        std::shared_ptr<const OpenedModel> model = open_named_model(path);
        ForwardSettings forward;
        forward.masks.causal = model->config().architecture != Architecture::Encoder;
        return {model->parameters(), forward, ModelText(model)};
    }
    std::error_code none;
    if (std::filesystem::is_directory(path, none) && !std::filesystem::exists(path / kCheckpointName, none)) {
        refuse_whole_cache(path);
        throw Error(fmt::format("{}: this is neither the folder of a published model, which has a config.json, nor that of a training run, "
                                "which has a {}",
                                escaped(path.native(), 0), kCheckpointName));
    }
    const Checkpoint checkpoint = read_run_checkpoint(folder_of_part(path));
    return {checkpoint.parameters, checkpoint.settings.train.forward, ModelText(checkpoint)};
}

TextWriter open_example(const std::string& name) {
    const std::shared_ptr<const ShippedModel> model = trained_example(name);
    return {model->checkpoint.parameters, model->checkpoint.settings.train.forward, ModelText(model->checkpoint)};
}

/// The model and settings of a document. If the command line gives no text, the document's is continued, with what was written after it.
TextWriter open_document(SampleOptions& options) {
    DocumentOptions named;
    named.document = options.document;
    Session session(
        make_document(named), [] {}, memory_budget_mib(named));
    open_runs_of_document(session, named);
    const std::shared_ptr<const Snapshot> snapshot = session.wait();
    if (!snapshot->problem.empty()) throw Error(snapshot->problem);
    expect_edits_to_apply(named, *snapshot->trace);
    const Setup& setup = *snapshot->state->setup;
    const bool goes_on = options.prompt.empty();
    const std::int64_t text = goes_on ? setup.written.sequence : 0;
    const auto place = static_cast<std::size_t>(text);
    if (goes_on) options.prompt = setup.texts.at(place);
    if (options.source.empty() && !setup.source_texts.empty()) options.source = setup.source_texts.at(place);
    ForwardSettings forward = snapshot->trace->settings;
    forward.edits = edits_of_text(forward.edits, text);
    const auto words = [&] {
        if (setup.model != nullptr) return ModelText(setup.model);
        const std::vector<std::string>& vocabulary = snapshot->vocabulary;
        return ModelText(Tokenizer::from_vocabulary(setup.tokenizer, vocabulary, setup.special_tokens));
    };
    return {snapshot->trace->parameters, std::move(forward), words(), goes_on ? setup.written.ids : std::vector<std::int32_t>()};
}

/// Prints texts of files and models piece by piece, harmless if they go to a terminal.
class Printer {
public:
    void print(std::string_view piece) { put(is_terminal_ ? terminal_.add(piece) : std::string(piece)); }
    void end_line() { put(terminal_.end() + "\n"); }

private:
    static void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

    bool is_terminal_ = ::isatty(STDOUT_FILENO) != 0;
    TerminalText terminal_;
};

/// Prints the prompt with all masks filled in.
void print_filled_in(const SampleOptions& options, const TextWriter& writer) {
    const ModelText& words = writer.words;
    const std::vector<std::int32_t> prompt = words.ids(options.prompt, "--prompt");
    const auto blank = std::find_if(prompt.begin(), prompt.end(), [&](std::int32_t id) { return words.hides(id); });
    if (blank == prompt.end())
        throw Error(fmt::format("--prompt: this model fills in words: expected a {} where one is hidden, found none in \"{}\"",
                                words.blank(), escaped(options.prompt)));
    std::vector<Json> drawn;
    const auto keep = [&](const DrawnToken& token) {
        if (options.json) drawn.push_back(to_json(words, token, options.sampling));
    };
    const std::vector<std::int32_t> filled = while_intact(
        words, [&] { return fill_in(*writer.parameters, words.batch(prompt), *blank, writer.forward, options.sampling, keep); });
    if (options.json) {
        Json tokens = Json::list();
        auto next = drawn.begin();
        for (std::size_t at = 0; at < filled.size(); ++at)
            tokens.push_back(words.hides(prompt[at]) ? std::move(*next++) : token_json(words, filled[at]));
        return print_json(options, std::move(tokens), words.whole(filled));
    }
    Printer printer;
    printer.print(words.whole(filled));
    printer.end_line();
}

void tell_end(const ModelText& words, std::int32_t id, std::size_t written) {
    fmt::print(stderr, "The model ended its text after {} token{} with {} (id {}); --ignore-end continues past it.\n", written,
               written == 1 ? "" : "s", escaped(words.text(id)), id);
}

/// The last token is drawn but not read.
void tell_forgotten(const Config& config, std::size_t prompt, std::size_t written) {
    const std::int64_t read = static_cast<std::int64_t>(prompt + written) - 1, context = config.longest_text();
    if (written == 0 || read <= context) return;
    fmt::print(stderr, "The text grew beyond the model's context of {} tokens: at the end, the first {} were no longer read.\n", context,
               read - context);
}

/// Prints the prompt and its continuation; for a translation only the answer. Stops at an end token unless they are ignored.
void print_written(SampleOptions options, const TextWriter& writer) {
    const ModelText& words = writer.words;
    const bool translates = writer.parameters->config().architecture == Architecture::EncoderDecoder;
    if (translates && options.source.empty())
        throw Error("--source: this model reads a source text besides the one it writes, so give one");
    if (translates && options.prompt.empty()) options.prompt = words.answer_begins();
    const bool begins = translates && options.prompt.empty() && writer.written.empty();
    std::vector<std::int32_t> source;
    if (translates) source = words.ids(options.source, "--source");
    std::vector<std::int32_t> prompt = translates ? words.answer_ids(options.prompt, "--prompt") : words.ids(options.prompt, "--prompt");
    std::string before = translates ? "" : options.prompt;
    for (const std::int32_t id : writer.written) {
        prompt.push_back(id);
        for (std::string* const text : {&before, &options.prompt}) *text += (text->empty() ? "" : words.between()) + words.text(id);
    }
    const std::vector<std::int32_t> ends = options.ignore_end ? std::vector<std::int32_t>() : words.ends(source);
    const Prompt given{prompt, source, ends};
    const auto is_end = [&](std::int32_t id) { return std::find(ends.begin(), ends.end(), id) != ends.end(); };
    if (options.json) {
        Json tokens = Json::list();
        const auto keep = [&](const DrawnToken& drawn) {
            words.require_intact();
            tokens.push_back(to_json(words, drawn, options.sampling));
        };
        const std::vector<std::int32_t> written =
            while_intact(words, [&] { return generate(*writer.parameters, given, writer.forward, options.sampling, keep); });
        const bool ended = !written.empty() && is_end(written.back());
        print_json(options, std::move(tokens), joined(words, written, ended, begins), ended);
        return tell_forgotten(writer.parameters->config(), prompt.size(), written.size());
    }
    bool begun = false;
    Printer printer;
    const auto print = [&](const DrawnToken& drawn) {
        words.require_intact();
        // Print the prompt together with the first token, so that an earlier error prints nothing.
        const bool ends_here = is_end(drawn.id) && words.tells_end(drawn.id);
        const std::string word = ends_here ? "" : begins && !begun ? words.first_text(drawn.id) : words.text(drawn.id);
        printer.print(fmt::format("{}{}{}", begun ? "" : before, begun || !before.empty() ? words.between() : "", word));
        begun = true;
        flush_output();
    };
    const std::vector<std::int32_t> written =
        while_intact(words, [&] { return generate(*writer.parameters, given, writer.forward, options.sampling, print); });
    if (!begun) printer.print(before);
    printer.end_line();
    flush_output();
    if (!written.empty() && is_end(written.back()) && words.tells_end(written.back())) tell_end(words, written.back(), written.size());
    tell_forgotten(writer.parameters->config(), prompt.size(), written.size());
}

TextWriter open_named(SampleOptions& options) {
    const int named =
        static_cast<int>(!options.model.empty()) + static_cast<int>(!options.preset.empty()) + static_cast<int>(!options.document.empty());
    if (named == 0) throw Error("say which model to use: --model FILE, --preset NAME or --document FILE.json");
    if (named > 1) throw Error("--model, --preset and --document each name a model: give one of them");
    if (!options.document.empty()) return open_document(options);
    return options.preset.empty() ? open_writer(options.model) : open_example(options.preset);
}

void sample(SampleOptions options) {
    require_sampling(options.sampling);
    const TextWriter writer = open_named(options);
    const Architecture architecture = writer.parameters->config().architecture;
    if (architecture != Architecture::EncoderDecoder && !options.source.empty())
        throw Error("--source: this model reads no source: only an encoder-decoder does");
    if (architecture == Architecture::Encoder) print_filled_in(options, writer);
    else print_written(options, writer);
}

}  // namespace

void add_sample_command(CliCommand program, int&) {
    auto options = std::make_shared<SampleOptions>();
    SamplingSettings& sampling = options->sampling;
    CliCommand command = program.command("sample", "Continue, translate or fill in a text with a trained model");
    command
        .option(
            "--model", options->model,
            "File written by attnscope train (or its folder), a GPT-2 model as .safetensors, or a published model: its folder or GGUF file")
        .shown_as("FILE|DIR");
    command.option("--preset", options->preset, "A trained example instead: stories, induction, addition, masked or translation")
        .shown_as("NAME")
        .suggest(shipped_models());
    command
        .option("--document", options->document,
                "Document saved by the window: its model, masks and edits, and its text, with what was written on, as the prompt")
        .shown_as("FILE.json");
    command
        .option("--prompt,--text", options->prompt,
                "The text to continue, or to fill in where it has a _; token ids for a model without a vocabulary")
        .shown_as("TEXT");
    command.option("--source", options->source, "The text to translate, for an encoder-decoder").shown_as("TEXT");
    command.option("--tokens", sampling.tokens, "Tokens to generate (default: 40)").shown_as("N").between(0, kMaxSampledTokens);
    command.option("--temperature", sampling.temperature, "0: always the likeliest; 1 (default): as the model predicts; above: more varied")
        .shown_as("X")
        .check(check_number);
    command.option("--top-k", sampling.top_k, "Sample from the K likeliest only; 0 (default): from all")
        .shown_as("K")
        .check(check_whole_number);
    command.option("--top-p", sampling.top_p, "Sample only from the likeliest that together reach P; 1 (default): from all")
        .shown_as("P")
        .check(check_number);
    command.option("--min-p", sampling.min_p, "Sample only from what is at least P times as likely as the likeliest; 0 (default): from all")
        .shown_as("P")
        .check(check_number);
    command.option("--seed", sampling.seed, "The same seed gives the same text").shown_as("N").check(check_whole_number);
    command.flag("--ignore-end", options->ignore_end, "Continue past the model's end tokens");
    command.flag("--json", options->json,
                 "Print one line of JSON: prompt, text, whether the model ended it, and for every token its probability, how many the "
                 "sampler kept, and the likeliest; bytes, as numbers, for a token that is part of a character");
    command.footer(
        "Examples:\n  attnscope sample --preset stories --prompt \"Lily and Tom are in the park .\" --tokens 40\n  attnscope sample "
        "--preset translation --source \"the small cat often sees a red fox .\" --temperature 0\n  attnscope sample --model "
        "runs/my/model.safetensors --prompt \"The sea \" --tokens 200 --temperature 0.8 --top-p 0.9\n  attnscope sample --preset stories "
        "--prompt \"Lily and Tom are in the park .\" --min-p 0.05 --top-k 40 --seed 7 --json\n  attnscope sample --document "
        "my.attnscope.json --tokens 5\n  attnscope train --task copy --out "
        "runs/copy\n  attnscope sample --model runs/copy --prompt \"adbc>\" --tokens 4 --temperature 0\nThe last one prints adbc>adbc. A "
        "translation ends with the token that the source ends with; --prompt says how it begins, by\ndefault with \">\". A published model "
        "stops at the end tokens named in its files and says so on standard error; --ignore-end\ncontinues past them. Chat templates are "
        "not interpreted: a chat model continues the prompt exactly as it is.\n");
    command.on_run([options] { sample(*options); });
}

}  // namespace attn::app
