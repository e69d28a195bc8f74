#pragma once
/// --preset, --text, --text-file, --document and --model: the document that a command works on.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/arguments.hpp"
#include "app/session/document/document.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/states/opened_model.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

struct DocumentOptions {
    std::string preset;                ///< "" for the default
    std::int64_t sentence = 0;         ///< one of the preset's sentences, counted from 1; 0: not given
    std::vector<std::string> texts;    ///< replace the preset's texts
    std::vector<std::string> sources;  ///< replace the encoder's texts in an encoder-decoder
    std::filesystem::path text_file;
    std::filesystem::path document;   ///< a saved document instead of a preset
    std::filesystem::path model;      ///< a published model instead of a preset
    std::filesystem::path recording;  ///< a recording instead of a preset
    std::string bug;                  ///< name of the deliberate mistake; "" for none
    double memory_mib = 0;            ///< memory limit for computed results; 0: as set in the window
    bool gives_text() const { return !texts.empty() || !text_file.empty(); }
    bool gives_model() const {
        return !preset.empty() || sentence > 0 || !document.empty() || !model.empty() || !recording.empty() || !bug.empty();
    }
    bool given() const { return gives_text() || gives_model(); }
};

/// `default_example`: for the help, the example that is used if none is named; "" if that depends.
void add_document_options(CliCommand command, DocumentOptions& options, std::string_view default_example = kDefaultPreset);

/// --memory, for commands without a window.
void add_memory_option(CliCommand command, DocumentOptions& options);
/// The memory limit given, else the one set in the window.
double memory_budget_mib(const DocumentOptions& options);

/// "no_scale", "scale_d_model", ...
std::vector<std::string> bug_names();

/// Appends names to a help text: "Make this mistake on purpose: no_scale, ...".
std::string with_names(const std::string& help, const std::vector<std::string>& names);

/// The texts given on the command line, if any. Every non-blank line of a text file is a sequence. Throws Error if both --text and
/// --text-file are given, FileError for a file that cannot be read or contains no text.
std::vector<std::string> given_texts(const DocumentOptions& options);

/// The published model of that path. Says on standard error what was assumed: how the model reads a text, and that a tokenizer's file
/// stands for the model around it.
std::shared_ptr<const OpenedModel> open_named_model(const std::filesystem::path& path);

/// The preset or document, with the given texts. Throws as given_texts() does, and Error for a preset that does not exist.
Document make_document(const DocumentOptions& options);

/// Throws FileError naming the file, the edit and the reason if an edit of the document has no effect on the trace.
void expect_edits_to_apply(const DocumentOptions& options, const Trace<float>& trace);
/// Says on standard error that the deliberate mistake has no effect on this model and text, if that is so.
void tell_idle_mistake(const Trace<float>& trace);

}  // namespace attn::app
