#pragma once
/// What there is to know about files: the document's own, what was opened, written and found in a folder.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn::app {

struct Lesson;
struct ModelShelf;

/// What a file turned out to be.
enum class FileKind : std::uint8_t {
    Document,
    Run,    ///< a training run: its folder or checkpoint
    Model,  ///< the folder of a published model
    Dump,   ///< tensors of some model, by name
    Text,
    Lesson,
};

struct FolderListing {
    struct Entry {
        std::string name;
        bool folder = false;
        std::uint64_t bytes = 0;  ///< of a file
    };
    std::filesystem::path folder;
    std::vector<Entry> entries;  ///< folders first, by name; hidden ones are left out
    std::string problem;         ///< why there are none, "" when nothing is wrong
};

/// What a file or folder is, told by a look at its beginning.
struct FilePreview {
    std::filesystem::path path;
    std::string words;     ///< "Training run: Copy, step 500, 2 layers of 4 heads"; "" for a folder that is nothing of ours
    bool refused = false;  ///< the words say why it cannot be opened
};

/// A text that was opened: the person says what it is for.
struct OpenedText {
    std::filesystem::path path;
    std::shared_ptr<const std::string> text;
};

/// What an autosave holds, in words for the person who is asked about it.
struct AutosaveWords {
    std::string document;         ///< "gpt-tiny: the cat sat"; "" without a document
    std::string run;              ///< "Copy, step 312"; "" without a run
    std::int64_t written_at = 0;  ///< seconds since 1970
};

struct FilesState {
    std::filesystem::path document;                ///< the file of the document; empty while it has none
    bool unsaved = false;                          ///< the document is not as it was opened or saved
    bool would_be_lost = false;                    ///< and it would not be there again at the next start
    bool busy = false;                             ///< something is being read or written
    std::string notice;                            ///< what became of the last file, in one sentence
    bool failed = false;                           ///< the notice says what went wrong
    std::uint64_t notices = 0;                     ///< grows with every notice
    std::optional<OpenedText> text;                ///< waits for command::UseText
    std::shared_ptr<const FolderListing> listing;  ///< the one asked for last
    std::shared_ptr<const FilePreview> preview;    ///< the one asked for last
    std::shared_ptr<const Lesson> lesson;          ///< the one opened last
    std::vector<std::string> recent;               ///< opened or saved, newest first
    std::vector<std::string> recent_models;        ///< published ones, newest first
    std::shared_ptr<const ModelShelf> models;      ///< as asked for last
    std::string clipboard;                         ///< a text to be copied
    std::uint64_t copies = 0;                      ///< grows with every such text
    std::uint64_t restorations = 0;                ///< grows with every RestoreWork that is done or has failed
    bool restored = false;                         ///< the last of them is done
    FileKind opened = FileKind::Document;          ///< what was opened last
    std::uint64_t openings = 0;                    ///< grows with every file that was opened
};

}  // namespace attn::app
