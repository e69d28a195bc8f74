#pragma once
/// --preset, --text, --text-file and --document: which document a command works on.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/session/document.hpp"
#include "app/session/snapshot.hpp"

namespace CLI {
class App;
}

namespace attn::app {

struct DocumentOptions {
    std::string preset;              ///< "" for the default one
    std::vector<std::string> texts;  ///< replace the preset's own
    std::filesystem::path text_file;
    std::filesystem::path document;  ///< a saved one, in place of a preset
    std::string bug;                 ///< name of a mistake to make on purpose; "" for none
    bool given() const { return !preset.empty() || !texts.empty() || !text_file.empty() || !document.empty() || !bug.empty(); }
};

void add_document_options(CLI::App& command, DocumentOptions& options);

/// "self-attention, causal-attention, ..."
std::string preset_names();

/// "no_scale, scale_d_model, ..."
std::string bug_names();

/// The preset or document with the texts given. Every line of a text file that is not blank is a sequence.
/// Throws Error for a preset that does not exist and for both kinds of text at once, FileError for a file that cannot be read or holds no
/// text.
Document make_document(const DocumentOptions& options);

/// Its trace, computed. Throws Error with the reason when the document cannot be computed.
std::shared_ptr<const Snapshot> compute(const Document& document);

}  // namespace attn::app
