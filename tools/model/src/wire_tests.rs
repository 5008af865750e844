use super::*;

fn dialect(name: &str) -> Arc<Dialect> {
    let llm = config::resolve_layers(&config::Inputs::default()).unwrap().config.llm;
    Arc::new(llm.dialects[name].clone())
}

fn request(messages: Vec<ChatMessage>) -> ChatRequest {
    ChatRequest {
        role: AgentRole::Editor,
        run: "r1".into(),
        lane: None,
        model: "deepseek-flash".into(),
        thinking: Some(Effort::High),
        max_tokens: 4096,
        max_bytes: 16384,
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        dialect: dialect("deepseek"),
        messages,
    }
}

fn user(content: &str) -> ChatMessage {
    ChatMessage::user(content)
}

fn text(request: &ChatRequest) -> String {
    String::from_utf8(request.body().to_vec()).unwrap()
}

#[test]
fn a_body_has_its_fields_in_a_fixed_order_and_the_messages_last() {
    insta::assert_snapshot!(
        text(&request(vec![ChatMessage::System { content: "be brief".into() }, user("say \"hi\"\n")])),
        @r#"{"model":"deepseek-flash","stream":true,"stream_options":{"include_usage":true},"max_tokens":4096,"thinking":{"type":"enabled"},"reasoning_effort":"high","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"say \"hi\"\n"}]}"#
    );
}

#[test]
fn without_thinking_there_is_no_effort() {
    let body = text(&ChatRequest { thinking: None, ..request(vec![user("hi")]) });
    insta::assert_snapshot!(body, @r#"{"model":"deepseek-flash","stream":true,"stream_options":{"include_usage":true},"max_tokens":4096,"thinking":{"type":"disabled"},"messages":[{"role":"user","content":"hi"}]}"#);
}

#[test]
fn each_dialect_is_written_in_its_own_way() {
    let asked =
        request(vec![ChatMessage::System { content: "be brief".into() }, user("hi"), user("?")]);
    let written = |name: &str, thinking| {
        let dialect = dialect(name);
        text(&ChatRequest { thinking, dialect, ..asked.clone() }).replace("\"messages\":[{\"role\":\"system\",\"content\":\"be brief\"},{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"user\",\"content\":\"?\"}]", "…")
    };
    let (high, usage) = (Some(Effort::High), r#""stream_options":{"include_usage":true},"#);
    for (name, thinking, expected) in [
        (
            "openai",
            high,
            format!(r#"{usage}"max_completion_tokens":4096,"reasoning_effort":"high""#),
        ),
        ("openai", None, format!(r#"{usage}"max_completion_tokens":4096"#)),
        (
            "openrouter",
            high,
            format!(r#"{usage}"max_tokens":4096,"reasoning":{{"enabled":true,"effort":"high"}}"#),
        ),
        (
            "vllm",
            None,
            format!(
                r#"{usage}"max_tokens":4096,"chat_template_kwargs":{{"thinking":false,"enable_thinking":false}}"#
            ),
        ),
        ("mistral", None, r#""max_tokens":4096"#.to_owned()),
    ] {
        let whole = format!(r#"{{"model":"deepseek-flash","stream":true,{expected},…}}"#);
        assert_eq!(written(name, thinking), whole, "{name}");
    }
    let mut without = Dialect::clone(&asked.dialect);
    without.parameters = BTreeSet::from([Parameter::MaxTokens]);
    let bare = ChatRequest { dialect: Arc::new(without), ..asked };
    insta::assert_snapshot!(text(&bare), @r#"{"model":"deepseek-flash","stream":true,"max_tokens":4096,"messages":[{"role":"user","content":"be brief\n\nhi"},{"role":"user","content":"?"}]}"#);
}

#[test]
fn a_grown_conversation_shares_all_but_the_last_two_bytes() {
    let mut messages = vec![user("one")];
    let before = request(messages.clone()).body();
    messages.push(ChatMessage::Assistant {
        content: "two".into(),
        reasoning_content: Some("because".into()),
        tool_calls: Vec::new(),
    });
    messages.push(user("three"));
    let after = request(messages).body();
    assert_eq!(after[..before.len() - 2], before[..before.len() - 2]);
}

#[test]
fn prompt_bytes_counts_the_content_of_the_messages() {
    let asked = request(vec![ChatMessage::System { content: "be\nbrief".into() }, user("你好")]);
    assert_eq!(asked.prompt_bytes(), 14);
}

#[test]
fn an_image_is_a_part_of_its_message_and_counts_by_its_pixels() {
    let image = PromptImage::new("a.png (9x9)".into(), ("image/png", "QUJD"), 7);
    let seen = ChatMessage::User { content: "see".into(), images: vec![image] };
    let plain = request(vec![user("see")]);
    let asked = request(vec![seen]);
    assert!(text(&asked).ends_with(
        r#""messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}]}]}"#
    ));
    assert_eq!(asked.prompt_bytes(), plain.prompt_bytes());
    let text = (asked.body().len() - "data:image/png;base64,QUJD".len()) as u64;
    let tokens = PromptTokens { most: text + 7, estimated: text / 4 + 7 };
    assert_eq!(asked.prompt_tokens(), tokens);
    let most = plain.body().len() as u64;
    assert_eq!(plain.prompt_tokens(), PromptTokens { most, estimated: most / 4 });
}

/// A conversation with one tool call and its result.
fn looked() -> Vec<ChatMessage> {
    let call = ToolCall { id: "c1".into(), name: "look".into(), arguments: "{ }".into() };
    let (content, reasoning_content) = (String::new(), Some("2+2".into()));
    vec![
        user("2+2?"),
        ChatMessage::Assistant { content, reasoning_content, tool_calls: vec![call] },
        ChatMessage::Tool { tool_call_id: "c1".into(), content: "4".into() },
    ]
}

#[test]
fn reasoning_is_sent_back_where_tools_are_offered_and_only_there() {
    let without = request(looked());
    assert!(!text(&without).contains("reasoning_content"));
    assert!(serde_json::to_string(&looked()).unwrap().contains("2+2"));
    let parameters = serde_json::json!({"type": "object"});
    let tools = vec![ToolOffer { name: "look".into(), description: "looks".into(), parameters }];
    let with = ChatRequest { tools, ..without.clone() };
    insta::assert_snapshot!(text(&with), @r#"{"model":"deepseek-flash","stream":true,"stream_options":{"include_usage":true},"max_tokens":4096,"thinking":{"type":"enabled"},"reasoning_effort":"high","tools":[{"type":"function","function":{"name":"look","description":"looks","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"2+2?"},{"role":"assistant","content":"","reasoning_content":"2+2","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{ }"}}]},{"role":"tool","content":"4","tool_call_id":"c1"}]}"#);
    let free = text(&with);
    let bound = text(&ChatRequest { tool_choice: ToolChoice::None, ..with.clone() });
    assert_eq!(bound, free.replace(",\"messages\"", ",\"tool_choice\":\"none\",\"messages\""));
    let bare = ChatRequest { tool_choice: ToolChoice::None, ..without.clone() };
    assert_eq!(text(&bare), text(&without), "without tools there is no tool choice");
    let unthinking = ChatRequest { thinking: None, ..with.clone() };
    assert!(!text(&unthinking).contains("reasoning_content"));
    assert!(with.prompt_bytes() > without.prompt_bytes() + 3);
}

#[test]
fn roles_are_sent_as_they_are_journaled() {
    for role in AgentRole::ALL {
        assert_eq!(serde_json::to_value(role).unwrap(), role.as_str());
    }
}
