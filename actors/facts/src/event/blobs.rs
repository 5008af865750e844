//! The blobs that events refer to, which the journal stores outside the log.

use super::{Blob, Event, NamedImage};

impl Event {
    /// Returns the blobs that must be on disk before the journal line.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events name no content")]
    pub fn blobs(&self) -> Vec<&Blob> {
        match self {
            Self::SessionStarted { config, prompts, .. } => config.iter().chain(prompts).collect(),
            Self::SessionContinued { config, prompts, .. } => {
                std::iter::once(config).chain(prompts).collect()
            }
            Self::ConfigurationChanged { config } | Self::AutopilotBegan { config, .. } => {
                vec![config]
            }
            Self::ConversationCompacted { summary, .. } => vec![summary],
            Self::EvidenceGathered { text, workspace, earlier, .. } => {
                std::iter::once(text).chain(workspace).chain(earlier).collect()
            }
            Self::ImagesRead { images, .. } => {
                images.iter().filter_map(NamedImage::content).collect()
            }
            Self::FilesRead { files, .. } => {
                files.iter().filter_map(|file| file.found.content()).collect()
            }
            Self::Looked { told, .. } => told.iter().collect(),
            Self::ToolResult { told, .. }
            | Self::ServerToolsFound { definitions: told, .. }
            | Self::ServerToolAnswered { told, .. }
            | Self::InstructionsRead { told, .. }
            | Self::AutopilotAnswered { told, .. } => vec![told],
            Self::SourcesRead { sources, .. } => vec![sources],
            Self::CardMade { card, .. } => vec![card],
            Self::CardTaken { card, .. } => card.iter().collect(),
            Self::TaskAnswered { answer, .. } => answer.iter().collect(),
            Self::ChildAsked { question, known, .. } => {
                std::iter::once(question).chain(known).collect()
            }
            Self::ProgramPaused { state, questions } => vec![state, questions],
            Self::ProgramEnded { outcome, .. } => vec![outcome],
            Self::PatchStaged { files, .. }
            | Self::LaneCompleted { files, .. }
            | Self::LaneFailed { files, .. }
            | Self::CheckedTreeChanged { locks: files, .. }
            | Self::LanesMerged { files, .. } => files
                .iter()
                .flat_map(|file| [&file.before, &file.after])
                .flatten()
                .map(|content| &content.blob)
                .collect(),
            Self::VerificationRun { output, .. }
            | Self::CommandTried { output, .. }
            | Self::OldTreeTested { output, .. }
            | Self::DiffRead { diff: output, .. } => vec![output],
            Self::ModelRequest { body, .. } => vec![body],
            Self::ModelReply { answer: Some(answer), .. } => vec![answer],
            _ => Vec::new(),
        }
    }

    /// Returns the blobs from which a replay takes the results of effects, to be filled in.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events are not effects")]
    pub fn effects_mut(&mut self) -> Vec<&mut Blob> {
        match self {
            Self::EvidenceGathered { text, workspace, earlier, .. } => {
                std::iter::once(text).chain(workspace).chain(earlier).collect()
            }
            Self::ImagesRead { images, .. } => {
                images.iter_mut().filter_map(NamedImage::content_mut).collect()
            }
            Self::FilesRead { files, .. } => {
                files.iter_mut().filter_map(|file| file.found.content_mut()).collect()
            }
            Self::Looked { told, .. } => told.iter_mut().collect(),
            Self::ToolResult { told, .. }
            | Self::ServerToolsFound { definitions: told, .. }
            | Self::ServerToolAnswered { told, .. }
            | Self::InstructionsRead { told, .. } => vec![told],
            Self::SourcesRead { sources, .. } => vec![sources],
            Self::CardMade { card, .. } => vec![card],
            Self::CardTaken { card, .. } => card.iter_mut().collect(),
            Self::ChildAsked { known, .. } => known.iter_mut().collect(),
            Self::ProgramPaused { state, questions } => vec![state, questions],
            Self::ProgramEnded { outcome, .. } => vec![outcome],
            Self::LaneCompleted { files, .. }
            | Self::LaneFailed { files, .. }
            | Self::CheckedTreeChanged { locks: files, .. }
            | Self::LanesMerged { files, .. } => files
                .iter_mut()
                .flat_map(|file| [&mut file.before, &mut file.after])
                .flatten()
                .map(|content| &mut content.blob)
                .collect(),
            Self::VerificationRun { output, .. }
            | Self::CommandTried { output, .. }
            | Self::DiffRead { diff: output, .. } => vec![output],
            Self::ModelReply { answer: Some(answer), .. } => vec![answer],
            _ => Vec::new(),
        }
    }
}
