#pragma once
/// --preset, --text, --text-file, --document and --model: which document a command works on.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/cli/arguments.hpp"
#include "app/session/document/document.hpp"
#include "engine/trace/trace.hpp"

namespace attn::app {

struct DocumentOptions {
    std::string preset;                ///< "" for the default one
    std::int64_t sentence = 0;         ///< of the preset's own, from 1; 0: not given
    std::vector<std::string> texts;    ///< replace the preset's own
    std::vector<std::string> sources;  ///< of an encoder-decoder: replace what its encoder reads
    std::filesystem::path text_file;
    std::filesystem::path document;  ///< a saved one, in place of a preset
    std::filesystem::path model;     ///< folder of a published one, in place of a preset
    std::string bug;                 ///< name of a mistake to make on purpose; "" for none
    bool gives_text() const { return !texts.empty() || !text_file.empty(); }
    bool gives_model() const { return !preset.empty() || sentence > 0 || !document.empty() || !model.empty() || !bug.empty(); }
    bool given() const { return gives_text() || gives_model(); }
};

void add_document_options(CliCommand command, DocumentOptions& options);

/// self-attention, causal-attention, ...
std::vector<std::string> preset_names();

/// no_scale, scale_d_model, ...
std::vector<std::string> bug_names();

/// "Make this mistake on purpose: no_scale, ...", with what stands before the colon.
std::string with_names(const std::string& help, const std::vector<std::string>& names);

/// The texts given; none where there are none. Every line of a text file that is not blank is a sequence.
/// Throws Error for both kinds of text at once, FileError for a file that cannot be read or holds no text.
std::vector<std::string> given_texts(const DocumentOptions& options);

/// The preset or document with the texts given. Throws as given_texts() does, and Error for a preset that does not exist.
Document make_document(const DocumentOptions& options);

/// Throws FileError naming the file, the edit and the reason when an edit of the document's file changes nothing in the trace.
void expect_edits_to_apply(const DocumentOptions& options, const Trace<float>& trace);

}  // namespace attn::app
