//! iceoryx2, request-response: both sides poll. For the rate several requests are active at once.

use iceoryx2::port::{client::Client, server::Server};
use iceoryx2::prelude::*;
use peers::{fill, sum, Options, STOP};
use std::collections::VecDeque;
use std::error::Error;
use std::hint::spin_loop;
use std::time::Instant;

const ACTIVE: usize = 64;

type Asker = Client<ipc::Service, [u8], (), u64, ()>;
type Answerer = Server<ipc::Service, [u8], (), u64, ()>;
type Pending = iceoryx2::pending_response::PendingResponse<ipc::Service, [u8], (), u64, ()>;

fn serve(options: &Options, server: &Answerer) -> Result<(), Box<dyn Error>> {
    println!("ready");
    let end = Instant::now() + options.patience();
    let mut idle = 0u32;
    loop {
        let Some(request) = server.receive()? else {
            spin_loop();
            idle += 1;
            if idle % (1 << 20) == 0 && Instant::now() > end {
                return Ok(());
            }
            continue;
        };
        if request[0] == STOP {
            return Ok(());
        }
        let answer = sum(&request);
        request.loan_uninit()?.write_payload(answer).send()?;
    }
}

fn ask(client: &Asker, message: &[u8]) -> Result<Pending, Box<dyn Error>> {
    Ok(client
        .loan_slice_uninit(message.len())?
        .write_from_slice(message)
        .send()?)
}

fn wait(pending: &Pending) -> u64 {
    loop {
        match pending.receive().expect("receive") {
            Some(response) => return *response,
            None => spin_loop(),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    set_log_level(LogLevel::Error);
    let options = Options::parse();
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let service = node
        .service_builder(
            &format!("rde-bench/{}/rpc", options.asker)
                .as_str()
                .try_into()?,
        )
        .request_response::<[u8], u64>()
        .max_active_requests_per_client(ACTIVE)
        .open_or_create()?;
    if options.is_server() {
        return serve(&options, &service.server_builder().create()?);
    }
    let client = service
        .client_builder()
        .initial_max_slice_len(options.size)
        .create()?;
    let _server = options.serve_beside();
    let mut message = vec![0u8; options.size];
    let mut count = 0;
    let samples = if options.rate {
        let mut active: VecDeque<Pending> = VecDeque::new();
        let samples = options.rate(|| {
            while active.len() < ACTIVE / 2 {
                count += 1;
                fill(&mut message, count);
                active.push_back(ask(&client, &message).expect("send"));
            }
            wait(&active.pop_front().expect("one is active"));
            1
        });
        active.iter().for_each(|pending| {
            wait(pending);
        });
        samples
    } else {
        options.round_trips(|| {
            count += 1;
            fill(&mut message, count);
            let pending = ask(&client, &message).expect("send");
            assert_eq!(wait(&pending), sum(&message), "wrong answer");
        })
    };
    message[0] = STOP;
    let _last = ask(&client, &message)?;
    options.print("peer-iceoryx2-rpc", &samples);
    Ok(())
}
