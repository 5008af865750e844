//! Routes requests and checks their key. Pure.

use super::refusal::RefusedRequest;
use super::{Options, ReceivedRequest};

/// The endpoint of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// `POST /chat/completions`.
    Chat { beta: bool },
    /// `GET /models`.
    Models,
    /// `GET /user/balance`.
    Balance,
}

/// Finds the endpoint of a request. Paths work without a prefix, under `/v1` and under `/beta`, and where Azure has a
/// deployment.
pub(super) fn route(request: &ReceivedRequest) -> Result<Route, RefusedRequest> {
    let path = request.path.as_str();
    let beta = path.strip_prefix("/beta");
    let of_deployment = path
        .strip_prefix("/openai/deployments/")
        .and_then(|deployment| deployment.find('/').and_then(|at| deployment.get(at..)));
    let known = beta.or_else(|| path.strip_prefix("/v1")).or(of_deployment);
    let rest = known.unwrap_or(path);
    let (route, method) = match rest {
        "/chat/completions" => (Route::Chat { beta: beta.is_some() }, "POST"),
        "/models" => (Route::Models, "GET"),
        "/user/balance" => (Route::Balance, "GET"),
        _ => return Err(RefusedRequest::new(404, format!("Not Found: {path}"))),
    };
    if request.method != method {
        return Err(RefusedRequest::new(
            405,
            format!("Method Not Allowed: {} {path}", request.method),
        ));
    }
    Ok(route)
}

/// Checks the key of a request.
pub(super) fn key(request: &ReceivedRequest, options: &Options) -> Result<(), RefusedRequest> {
    let header = request.header("authorization");
    let key = header.and_then(|header| header.strip_prefix("Bearer ")).map(str::trim);
    match (key.filter(|key| !key.is_empty()), &options.expected_key) {
        (None, _) if !options.require_key && header.is_none() => Ok(()),
        (None, _) => Err(RefusedRequest::new(
            401,
            "Authentication Fails (auth header format should be Bearer sk-...)",
        )),
        (Some(key), Some(expected)) if key != expected => {
            let skipped = key.chars().count().saturating_sub(4);
            let end: String = key.chars().skip(skipped).collect();
            let message = format!("Authentication Fails, Your api key: ****{end} is invalid");
            Err(RefusedRequest::new(401, message))
        }
        (Some(_), _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_methods_are_routed() {
        let to = |method: &str, path: &str| {
            let request = ReceivedRequest {
                method: method.into(),
                path: path.into(),
                ..ReceivedRequest::for_role("")
            };
            route(&request).map_err(|refusal| refusal.status)
        };
        assert_eq!(to("POST", "/chat/completions"), Ok(Route::Chat { beta: false }));
        assert_eq!(to("POST", "/v1/chat/completions"), Ok(Route::Chat { beta: false }));
        assert_eq!(to("POST", "/beta/chat/completions"), Ok(Route::Chat { beta: true }));
        assert_eq!(
            to("POST", "/openai/deployments/x/chat/completions"),
            Ok(Route::Chat { beta: false })
        );
        assert_eq!(to("POST", "/openai/deployments/x"), Err(404));
        assert_eq!(to("GET", "/models"), Ok(Route::Models));
        assert_eq!(to("GET", "/chat/completions"), Err(405));
        assert_eq!(to("POST", "/v2/chat/completions"), Err(404));
    }

    #[test]
    fn keys_are_checked_according_to_the_options() {
        let check = |header: Option<&str>, options: &Options| {
            let headers = header.map(|value| ("authorization".to_owned(), value.to_owned()));
            let request = ReceivedRequest {
                headers: headers.into_iter().collect(),
                ..ReceivedRequest::for_role("")
            };
            key(&request, options).map_err(|refusal| refusal.message)
        };
        let any = Options::default();
        let none = Options { require_key: false, ..Options::default() };
        let one = Options { expected_key: Some("sk-right".into()), ..Options::default() };
        let format = "Authentication Fails (auth header format should be Bearer sk-...)".to_owned();
        assert_eq!(check(Some("Bearer x"), &any), Ok(()));
        assert_eq!(check(None, &any), Err(format.clone()));
        assert_eq!(check(Some("sk-1"), &any), Err(format.clone()));
        assert_eq!(check(Some("Bearer "), &none), Err(format));
        assert_eq!(check(None, &none), Ok(()));
        assert_eq!(check(Some("Bearer sk-right"), &one), Ok(()));
        assert_eq!(
            check(Some("Bearer sk-wrong"), &one),
            Err("Authentication Fails, Your api key: ****rong is invalid".to_owned())
        );
    }
}
