//! Explains why a value has the wrong type for a key, quoting what the user wrote. Pure.

use toml::Value;

/// Returns what is wrong with `value`, whose default is `default`; `None` if its type is right.
pub(crate) fn misfit(value: &Value, default: &Value) -> Option<String> {
    let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let is_number = value.is_integer() || value.is_float();
    let wanted = match default {
        Value::Integer(_) => match value.as_integer() {
            Some(..0) => "is below 0".to_owned(),
            Some(_) => "is too large".to_owned(),
            None => format!("is not a whole number, such as {default}"),
        },
        Value::Float(_) if !is_number => format!("is not a number, such as {default}"),
        Value::Boolean(_) if !value.is_bool() => "is neither true nor false".to_owned(),
        Value::Array(_) if !value.is_array() => {
            "is not a list, such as [\"one\", \"two\"]".to_owned()
        }
        Value::String(_) if !value.is_str() => "is not text: put it in quotes".to_owned(),
        Value::String(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_)
        | Value::Array(_)
        | Value::Table(_) => return None,
    };
    Some(format!("`{written}` {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_quotes_the_value_and_says_what_is_allowed() {
        let text = |it: &str| Value::String(it.to_owned());
        let list = Value::Array(vec![text("a")]);
        for (value, default, message) in [
            (text("many"), Value::Integer(5), Some("`many` is not a whole number, such as 5")),
            (Value::Float(1.5), Value::Integer(5), Some("`1.5` is not a whole number, such as 5")),
            (Value::Integer(-3), Value::Integer(5), Some("`-3` is below 0")),
            (Value::Integer(1 << 40), Value::Integer(5), Some("`1099511627776` is too large")),
            (text("lots"), Value::Float(0.5), Some("`lots` is not a number, such as 0.5")),
            (text("maybe"), Value::Boolean(true), Some("`maybe` is neither true nor false")),
            (
                Value::Integer(3),
                list.clone(),
                Some("`3` is not a list, such as [\"one\", \"two\"]"),
            ),
            (Value::Integer(3), text("a"), Some("`3` is not text: put it in quotes")),
            (text("foo"), text("agent"), None),
            (Value::Integer(3), Value::Float(0.5), None),
        ] {
            assert_eq!(misfit(&value, &default).as_deref(), message);
        }
    }
}
