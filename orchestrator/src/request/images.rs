//! The effect of reading the images that a request names. Naming a file in a request is the user's consent to read it;
//! what files and models say names nothing.

mod file_names;

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actors::run::Run;
use actors::run::effect::{Effect, Position, Trace};
use actors::run::terms::settings_of;
use config::ImageSettings;
use facts::closed::JournalClosed;
use facts::delivery::{Delivery, NeedsWork};
use facts::event::{Blob, Event, ImageRead, NamedImage};
use facts::model_choice::own_words;
use images::{HEAD_BYTES, ImageBounds, ImageKind};
use model::{AgentRole, PromptImage, image_tokens, takes_images};
use policy::{PolicyRules, Verdict};
use tools::blocking::on_a_thread;
use tools::regular;

use self::file_names::file_names;
use crate::request::intent::RequestIntent;

/// What precedes a text that was piped in; it names nothing.
const PIPED: &str = "\n<stdin>\n";
/// Larger files are not read.
const MAX_FILE_BYTES: u64 = 32 << 20;

/// The effect of reading the images that a request names. It is recorded only if there are any.
pub(crate) struct ReadingImages {
    /// The user's request.
    request: String,
    /// The directory of the workspace.
    dir: PathBuf,
    /// The roles that could see them, in order.
    roles: &'static [AgentRole],
}

impl ReadingImages {
    /// Creates the effect for a request with this intent.
    pub(crate) fn of(request: &str, dir: PathBuf, intent: RequestIntent) -> Self {
        let roles: &[AgentRole] = match intent {
            RequestIntent::Edit => &[AgentRole::Architect, AgentRole::Editor],
            RequestIntent::Plan => &[AgentRole::Architect],
            RequestIntent::Answer | RequestIntent::Review => &[AgentRole::Analysis],
            RequestIntent::Mission => &[AgentRole::Researcher],
        };
        Self { request: request.to_owned(), dir, roles }
    }
}

impl Effect for ReadingImages {
    type Outcome = Vec<NamedImage>;
    type Stop = JournalClosed;
    const POSITION: Position = Position::NextIfAtAll;

    fn look(&mut self, event: &Event) -> Trace<Vec<NamedImage>> {
        let Event::ImagesRead { images, .. } = event else { return Trace::Foretold(Vec::new()) };
        Trace::Done(images.clone())
    }

    async fn act(&mut self, run: &Run) -> Result<Vec<NamedImage>, JournalClosed> {
        let config = run.config();
        let typed = self.request.split(PIPED).next().unwrap_or_default();
        let said = own_words(typed, config.router.pasted_rows);
        let places = Places {
            dir: self.dir.clone(),
            home: run.env.vars.get("HOME").map(PathBuf::from),
            rules: Arc::clone(&run.terms.rules),
        };
        let most = config.llm.images.max_count;
        let found = on_a_thread(move || places.find(&said, most)).await;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let mut images = Vec::new();
        for Found { name, content } in found {
            let read = match content {
                Ok(content) => fitted(content, &config.llm.images).await,
                Err(why) => ImageRead::Refused { why },
            };
            images.push(NamedImage { name: run.redactor.redact(&name).into_owned(), read });
        }
        let first = self.roles.first().filter(|_| !self.roles.iter().any(|role| sees(run, *role)));
        let unseen_by = first.map(|role| settings_of(&config.llm, *role).model.clone());
        run.publish(Event::ImagesRead { images: images.clone(), unseen_by }).await?;
        Ok(images)
    }
}

/// Returns true if the model of a role takes images.
pub(crate) fn sees(run: &Run, role: AgentRole) -> bool {
    let llm = &run.config().llm;
    takes_images(&llm.images, &settings_of(llm, role).model)
}

async fn fitted(content: Vec<u8>, settings: &ImageSettings) -> ImageRead {
    let ImageSettings { max_base64_bytes, max_side, .. } = *settings;
    match images::fit(&content, ImageBounds { max_base64_bytes, max_side }).await {
        Ok(fitted) => ImageRead::Usable {
            kind: fitted.kind,
            width: fitted.width,
            height: fitted.height,
            shrunk: fitted.shrunk.is_some(),
            image: Blob::new(fitted.shrunk.unwrap_or(content)),
        },
        Err(why) => ImageRead::Refused { why: why.to_string() },
    }
}

/// Returns the images as they are sent, and those that are not, with the reason.
pub(crate) fn shown(
    settings: &ImageSettings,
    images: &[NamedImage],
) -> (Vec<PromptImage>, Vec<String>) {
    let (mut sent, mut refused) = (Vec::new(), Vec::new());
    for named in images {
        match &named.read {
            ImageRead::Usable { kind, width, height, image, .. } => {
                let content = images::base64(&image.content);
                let tokens = image_tokens(settings, *width, *height);
                let content = (kind.media_type(), content.as_str());
                sent.push(PromptImage::new(named.to_string(), content, tokens));
            }
            ImageRead::Refused { .. } => refused.push(named.to_string()),
        }
    }
    (sent, refused)
}

/// Returns how a request ends that consists of images of which none can be shown.
pub(crate) fn nothing_to_see(request: &str, images: &[NamedImage]) -> Option<Delivery> {
    let is_all = request.split_whitespace().count() <= images.len();
    if images.is_empty() || !is_all || images.iter().any(|image| image.content().is_some()) {
        return None;
    }
    let why: Vec<String> = images.iter().map(NamedImage::to_string).collect();
    let detail = format!("there is nothing to look at: {}", why.join(", ")).into();
    Some(Delivery::NeedsWork { why: NeedsWork::NoAnswer, detail })
}

/// An image, and its content or why it may not be read.
struct Found {
    name: String,
    content: Result<Vec<u8>, String>,
}

/// Where files are looked for.
struct Places {
    /// The workspace.
    dir: PathBuf,
    home: Option<PathBuf>,
    rules: Arc<PolicyRules>,
}

impl Places {
    /// Reads the images that are named, each once, and at most this many. Blocks.
    fn find(&self, said: &str, most: usize) -> Vec<Found> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for name in file_names(said) {
            let Ok(real) = self.path(&name).canonicalize() else { continue };
            if !seen.insert(real.clone()) || !is_image(&real) {
                continue;
            }
            let content = if found.len() < most {
                self.content(&name, &real)
            } else {
                Err(format!("a request shows at most {most} images"))
            };
            found.push(Found { name, content });
        }
        found
    }

    fn path(&self, name: &str) -> PathBuf {
        match (name.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => self.dir.join(name),
        }
    }

    /// Reads an image at its `real` path. A link of the workspace that leads out of it is no word of the user.
    fn content(&self, name: &str, real: &Path) -> Result<Vec<u8>, String> {
        let dir = self.dir.canonicalize().unwrap_or_else(|_| self.dir.clone());
        let inside = real.strip_prefix(&dir);
        if inside.is_err() && !name.starts_with(['/', '~']) {
            return Err("it is outside of the workspace; its whole path shows it".to_owned());
        }
        for path in [inside.unwrap_or(real), Path::new(name)] {
            let path = path.to_string_lossy();
            if let Verdict::Deny { why } = self.rules.may_read(path.trim_start_matches('/')) {
                return Err(why);
            }
        }
        regular::read_regular_file(real, MAX_FILE_BYTES).map_err(|error| error.to_string())
    }
}

/// Returns true for a regular file that begins like an image. Blocks.
fn is_image(path: &Path) -> bool {
    let mut head = [0; HEAD_BYTES];
    regular::open_to_read(path)
        .and_then(|mut file| file.read_exact(&mut head))
        .is_ok_and(|()| ImageKind::of(&head).is_some())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n not really";

    #[test]
    fn only_images_that_the_user_names_and_policy_allows_are_read() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("work");
        fs::create_dir_all(dir.join("a")).unwrap();
        for name in ["a/shot.png", "b c.png", ".env", "../out.png", "../id_rsa"] {
            fs::write(dir.join(name), PNG).unwrap();
        }
        fs::write(dir.join("text.png"), "a text, whatever its name says").unwrap();
        symlink("../out.png", dir.join("link.png")).unwrap();
        let config = config::resolve_layers(&config::Inputs::default()).unwrap().config;
        let rules = PolicyRules::new(&config.policy, config.agent_loop.safety_gate).unwrap();
        let home = Some(home.path().to_owned());
        let places = Places { dir: dir.clone(), home, rules: Arc::new(rules) };
        let found = |said: &str, most| -> Vec<String> {
            let told = |found: Found| match found.content {
                Ok(content) => format!("{} {}", found.name, content == PNG),
                Err(why) => format!("{}: {why}", found.name),
            };
            places.find(said, most).into_iter().map(told).collect()
        };
        assert_eq!(
            found("look at @a/shot.png, a/shot.png and @\"b c.png\"", 8),
            ["a/shot.png true", "b c.png true"]
        );
        assert_eq!(found("@~/out.png", 8), ["~/out.png true"]);
        let whole = dir.join("../out.png");
        assert_eq!(found(&format!("see {}", whole.display()), 8).len(), 1);
        assert_eq!(found("@text.png @none.png @/dev/zero @a", 8), [""; 0]);
        for (said, why) in [
            ("@link.png", "outside of the workspace"),
            ("@../out.png", "outside of the workspace"),
            ("@.env", "policy.secret_files"),
            ("@~/id_rsa", "policy.secret_files"),
        ] {
            let found = found(said, 8);
            assert!(found.len() == 1 && found[0].contains(why), "{found:?}");
        }
        assert!(found("@a/shot.png @~/out.png", 1)[1].contains("at most 1"));
    }
}
