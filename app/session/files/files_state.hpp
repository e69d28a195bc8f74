#pragma once
/// The state of file operations as the UI sees it: the document's own file, and what was opened, saved, or found in a folder.

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/session/document/notice_of.hpp"
#include "engine/recording/logged.hpp"

namespace attn::app {

struct Command;
struct Document;
struct Lesson;
struct ModelShelf;

/// The kinds of files the program can open.
enum class FileKind : std::uint8_t {
    Document,
    Run,        ///< a training run: its folder or a checkpoint
    Model,      ///< folder of a published model
    Recording,  ///< folder of what other code computed
    Dump,       ///< named tensors of some model
    Text,
    Lesson,
};

struct FolderListing {
    struct Entry {
        std::string name;
        bool folder = false;
        std::uint64_t bytes = 0;  ///< size of a file
        bool hidden() const { return name.starts_with('.'); }
    };
    std::filesystem::path folder;
    std::vector<Entry> entries;  ///< folders first, by name; then hidden ones in the same order
    std::string problem;         ///< why the folder could not be read; "" if there was no problem
};

/// A description of a file or folder, from its beginning.
struct FilePreview {
    std::filesystem::path path;
    std::string words;     ///< such as "Training run: Copy, step 500, 2 layers of 4 heads"; "" for a folder of no known kind
    bool refused = false;  ///< `words` says why it cannot be opened
    bool there = true;     ///< something of this name exists
};

/// An opened text; the user decides what it is used for.
struct OpenedText {
    std::filesystem::path path;
    std::shared_ptr<const std::string> text;
};

/// A document that was not opened because its model is missing.
struct MissingModel {
    std::filesystem::path document;
    std::filesystem::path model;  ///< where it was
    std::string problem;          ///< says where it was looked for
};

/// Something that saving would replace, although it was not opened or saved here as it is now.
struct InTheWay {
    std::filesystem::path path;
    bool changed = false;                  ///< it was, but another program has changed it since
    bool is_other_run = false;             ///< it was, as another run
    std::shared_ptr<const Command> again;  ///< saves all the same
};

/// A description of an autosave's contents, for the restore dialog.
struct AutosaveWords {
    std::string document;         ///< such as "gpt-tiny: the cat sat"; "" without a document
    std::string run;              ///< such as "Copy, step 312"; "" without a run
    std::int64_t written_at = 0;  ///< Unix time in seconds
};

/// An export under way, and how much of it is written, from 0 to 1.
struct ExportUnderWay {
    std::filesystem::path path;
    double share = 0;
};

struct FilesState {
    std::filesystem::path document;  ///< the document's file; empty if it has none
    bool unsaved = false;            ///< the document differs from its file
    bool would_be_lost = false;      ///< and could not be recreated at the next start
    /// Another document, open before, as it was left with unsaved changes, and its file; null if there is none. Undo or redo leads to it.
    std::shared_ptr<const Document> left;
    std::filesystem::path left_document;
    bool busy = false;                                ///< a file is being read or saved
    std::optional<ExportUnderWay> exporting;          ///< independent of `busy`; none if nothing is being exported
    std::string notice;                               ///< outcome of the last file operation, in one sentence
    bool failed = false;                              ///< `notice` reports an error
    NoticeOf notice_of = NoticeOf::File;              ///< what an error is about
    std::uint64_t notices = 0;                        ///< incremented with every notice
    std::array<std::uint64_t, kNoticeKinds> ended{};  ///< incremented whenever the cause of earlier errors of this kind is gone
    std::optional<OpenedText> text;                   ///< opened text waiting for command::UseText
    std::optional<MissingModel> missing_model;        ///< the latest, if no document was opened since
    std::uint64_t missing_models = 0;                 ///< incremented with every one
    std::optional<InTheWay> in_the_way;               ///< the latest, if nothing was saved since
    std::uint64_t ways = 0;                           ///< incremented with every one
    std::shared_ptr<const FolderListing> listing;     ///< the latest requested
    std::shared_ptr<const FilePreview> preview;       ///< the latest requested
    std::shared_ptr<const Lesson> lesson;             ///< the latest opened
    std::shared_ptr<const Lesson> made_lesson;        ///< the one that got a step last; null: none in this session
    std::filesystem::path made_lesson_file;           ///< its file
    std::uint64_t lesson_steps = 0;                   ///< incremented with every step made
    std::vector<std::string> recent;                  ///< opened or saved, newest first
    std::vector<std::string> recent_models;           ///< published models, newest first
    std::shared_ptr<const ModelShelf> models;         ///< the latest requested
    std::shared_ptr<const recording::Logged> logged;  ///< by the code of the shown recording; null: nothing
    std::string clipboard;                            ///< text to copy
    std::uint64_t copies = 0;                         ///< incremented with every text to copy
    std::uint64_t restorations = 0;                   ///< incremented when a RestoreWork succeeds or fails
    bool restored = false;                            ///< the last RestoreWork succeeded
    FileKind opened = FileKind::Document;             ///< kind of the file opened last
    std::uint64_t openings = 0;                       ///< incremented with every file opened
};

}  // namespace attn::app
