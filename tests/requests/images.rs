//! Images in requests: they reach the model byte for byte, once, and what cannot be shown is said in words.

use std::fs;
use std::io::Cursor;

use image::codecs::gif::GifEncoder;
use image::{DynamicImage, Frame, ImageFormat, Rgb, RgbImage, RgbaImage};
use mock::ScriptedReply;
use serde_json::Value;

use crate::sessions::resume::journal;
use crate::support::{Project, Provider, Run, World, greeting_fix};

const NAMES: &str = "Images that the request names, in the order in which they are shown here:";
const UNSEEN: &str = "Images that the request names and that are not shown here:";

fn answers(count: usize) -> Vec<ScriptedReply> {
    (0..count).map(|_| ScriptedReply::text("A button.").to("analysis")).collect()
}

fn world(images: &[(&str, &[u8])], replies: Vec<ScriptedReply>) -> World {
    let project = Project::greeting();
    for (name, bytes) in images {
        project.write(name, bytes);
    }
    World::of(project, Provider::new(replies))
}

fn png(width: u32, height: u32) -> Vec<u8> {
    encoded(&RgbImage::from_pixel(width, height, Rgb([9, 99, 199])).into())
}

fn encoded(image: &DynamicImage) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Returns a picture of about this many bytes, which does not compress.
fn noise(width: u32, height: u32) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    let image = RgbImage::from_fn(width, height, |_, _| Rgb([(); 3].map(|()| random.u8(..))));
    encoded(&image.into())
}

/// Returns the content of the message of the user in a role's `number`th request, counted from one.
fn content(world: &World, role: &str, number: usize) -> Value {
    let request = &world.provider.of(role)[number - 1].request;
    let messages = request.json["messages"].as_array().unwrap();
    messages.iter().find(|message| message["role"] == "user").unwrap()["content"].clone()
}

/// Returns the text of a message and the URLs of its images.
fn parts(content: &Value) -> (&str, Vec<&str>) {
    let Some(parts) = content.as_array() else { return (content.as_str().unwrap(), Vec::new()) };
    let url = |part: &Value| (part["type"] == "image_url").then_some(());
    let images = parts.iter().filter(|part| url(part).is_some());
    let urls = images.map(|part| part["image_url"]["url"].as_str().unwrap()).collect();
    (parts[0]["text"].as_str().unwrap(), urls)
}

fn asks(world: &World, question: &str) -> Run {
    let run = world.asks(question);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run
}

fn replays(world: &World) {
    let replay = world.deepseek(["replay", "latest"]).run();
    assert_eq!(replay.code, Some(0), "{}", replay.stderr);
}

#[test]
fn a_screenshot_reaches_the_model_byte_for_byte_and_replays() {
    let shot = png(80, 60);
    let world = world(&[("a/my shot.png", &shot)], answers(2));
    let run = asks(&world, "What is on @\"a/my shot.png\"?");
    let sent = content(&world, "analysis", 1);
    let (text, images) = parts(&sent);
    assert!(text.ends_with(&format!("{NAMES} a/my shot.png (80x60)")), "{text}");
    assert_eq!(images, [format!("data:image/png;base64,{}", images::base64(&shot))]);
    let read = &run.one("ImagesRead")["images"][0];
    assert_eq!((&read["name"], &read["usable"]["width"]), (&"a/my shot.png".into(), &80.into()));
    assert_eq!(run.stderr.matches("secrets in them cannot be masked").count(), 1, "{}", run.stderr);
    let blob = read["usable"]["image"]["blob"].as_str().unwrap();
    let kept = |dir: &str| {
        fs::read_dir(world.state().join("sessions"))
            .unwrap()
            .any(|session| session.unwrap().path().join("blobs").join(dir).exists())
    };
    assert!(kept(&format!("{blob}.zst")));
    fs::remove_file(world.project.path("a/my shot.png")).unwrap();
    replays(&world);
    let next = world.deepseek(["ask", "And now?", "-c"]).run();
    assert_eq!(next.code, Some(0), "{}", next.stderr);
    let sent = content(&world, "analysis", 2);
    let (text, images) = parts(&sent);
    assert!(
        images.is_empty() && text.contains(&format!("{UNSEEN} a/my shot.png (80x60)")),
        "{text}"
    );
}

#[test]
fn the_first_role_sees_an_image_and_the_next_is_told_of_it() {
    let same = "[llm.max_think_model]\nmodel = \"deepseek-flash\"\n";
    let world = world(&[("shot.png", &png(8, 6))], greeting_fix()).configure(same);
    let run = world.chat("Fix the greeting as on @shot.png");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let sent = content(&world, "architect", 1);
    assert_eq!(parts(&sent).1.len(), 1, "{sent}");
    let told = content(&world, "editor", 1);
    assert!(told.as_str().unwrap().contains(&format!("{UNSEEN} shot.png (8x6)")), "{told}");
    replays(&world);
    let page = world.deepseek(["export", "--html"]).run().stdout;
    assert!(page.contains("<img alt=\"shot.png\" src=\"data:image/png;base64,"), "{page}");
    let page = world.deepseek(["export"]).run().stdout;
    assert!(page.contains("- image shot.png (8x6), "), "{page}");
}

#[test]
fn the_editor_sees_an_image_if_the_model_of_the_architect_takes_none() {
    let world = world(&[("shot.png", &png(8, 6))], greeting_fix())
        .configure("[llm.max_think_model]\nmodel = \"deepseek-v4-pro\"\n");
    let run = world.chat("Fix the greeting as on @shot.png");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(content(&world, "architect", 1).is_string());
    assert_eq!(parts(&content(&world, "editor", 1)).1.len(), 1);
    replays(&world);
}

#[test]
fn an_image_outside_of_the_workspace_is_sent_if_its_whole_path_is_named() {
    let world = world(&[], answers(3));
    fs::write(world.home().join("shot.png"), png(8, 6)).unwrap();
    let whole = world.home().join("shot.png");
    for said in ["~/shot.png", &whole.display().to_string()] {
        asks(&world, &format!("What is on {said}?"));
    }
    for number in [1, 2] {
        assert_eq!(parts(&content(&world, "analysis", number)).1.len(), 1);
    }
    // What is piped in are not words of the user.
    let piped =
        world.deepseek(["ask", "What is it?"]).input(&format!("see {}\n", whole.display())).run();
    assert_eq!(piped.code, Some(0), "{}", piped.stderr);
    assert!(content(&world, "analysis", 3).is_string());
}

#[test]
fn a_model_without_images_is_told_in_words_and_so_is_the_user() {
    let world = world(&[("shot.png", &png(8, 6))], answers(1));
    let said = ["ask", "What is on @shot.png?", "--set", "llm.images.models=[]"];
    let run = world.deepseek(said).run();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let told = content(&world, "analysis", 1);
    assert!(told.as_str().unwrap().contains(&format!("{UNSEEN} shot.png (8x6)")), "{told}");
    let line = "image not shown: shot.png (8x6): deepseek-flash takes none (llm.images.models)";
    assert_eq!(run.stderr.matches(line).count(), 1, "{}", run.stderr);
    assert!(!run.stderr.contains("cannot be masked"), "{}", run.stderr);
}

#[test]
fn a_large_image_is_shrunk_and_counts_by_its_pixels() {
    let large = noise(2800, 2500);
    assert!(large.len() > 20_000_000, "{}", large.len());
    let world = world(&[("large.png", &large)], answers(1));
    let run = asks(&world, "What is on @large.png?");
    let sent = content(&world, "analysis", 1);
    let (text, images) = parts(&sent);
    assert!(text.contains("shrunk)"), "{text}");
    assert!(images[0].len() < 5_000_100, "{}", images[0].len());
    let reserved = run.all("ModelRequest")[0]["reserved"]["tokens"].as_u64().unwrap();
    assert!(reserved < 100_000, "{reserved}");
    replays(&world);
}

#[test]
fn what_cannot_be_shown_is_said_in_words() {
    let whole = noise(90, 90);
    let mut bomb = png(1, 1);
    bomb[16..24].copy_from_slice(&[0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0]);
    let sum = crc32(&bomb[12..29]).to_be_bytes();
    bomb[29..33].copy_from_slice(&sum);
    let mut gif = Vec::new();
    let frame = |red| Frame::new(RgbaImage::from_pixel(4, 3, image::Rgba([red, 0, 0, 255])));
    GifEncoder::new(&mut gif).encode_frames([frame(1), frame(200)]).unwrap();
    let images: [(&str, &[u8]); 4] = [
        ("torn.png", &whole[..whole.len() / 2]),
        ("notes.png", b"# a text, whatever its name says\n"),
        ("bomb.png", &bomb),
        ("moves.gif", &gif),
    ];
    let world = world(&images, answers(1));
    let run = asks(&world, "Compare @torn.png @notes.png @bomb.png @moves.gif");
    let sent = content(&world, "analysis", 1);
    let (text, images) = parts(&sent);
    for told in
        ["torn.png: it is damaged", "bomb.png: 100000x100000 pixels are more than 100 million"]
    {
        assert!(text.contains(told) && run.all("ImagesRead").len() == 1, "{text}");
    }
    assert!(!text.contains("notes.png: "), "{text}");
    assert_eq!(images, [format!("data:image/gif;base64,{}", images::base64(&gif))]);
    let run = world.asks("@torn.png");
    assert_eq!(run.ending(), "1 needs_work/no_answer", "{}", run.stderr);
    assert!(run.stderr.contains("nothing to look at: torn.png: it is damaged"), "{}", run.stderr);
    assert_eq!(journal(&world).iter().filter(|it| it["kind"] == "ImagesRead@v1").count(), 1);
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 }
        })
    })
}
